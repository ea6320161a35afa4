"""Asking models: what judges and generation share.

::

    model = chat_model(spec, terms)
    reply = await ask(calls, model, messages, kind="answer-accuracy/1", read=my_reader)

`prompts` makes messages of a row, `models` and `requests` the request of an API, `asking` sends it,
and `replies` reads the answer, its reasoning and the JSON in it.
"""
