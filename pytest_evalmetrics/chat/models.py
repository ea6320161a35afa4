"""A model, and the requests that ask it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from pytest_evalmetrics.chat.spending import Spending
from pytest_evalmetrics.transport import Price

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_evalmetrics.spec import ModelSpec, ParamsSpec
    from pytest_evalmetrics.transport import Endpoint, Terms

__all__ = ["ChatModel", "Message", "chat_model"]

Message: TypeAlias = "Mapping[str, Any]"
_PATHS = {"chat": "/chat/completions", "completions": "/completions"}


@dataclass(frozen=True, slots=True)
class ChatModel:
    """A model that is ready to be asked.

    Attributes
    ----------
    endpoint
        Where it is.
    name
        What its endpoint calls it.
    plain
        It completes a text: the endpoint is one of completions, not of chat completions.
    inference
        Parameters, sent as they are; nothing that the user did not ask for.
    system_prompt
        The first message, where the messages begin with no other one of that role.
    end_token
        What ends its reasoning.
    price
        Of its tokens.
    spending
        What its answers took.
    """

    endpoint: Endpoint
    name: str
    plain: bool = False
    inference: Mapping[str, Any] = field(default_factory=dict)
    system_prompt: str | None = None
    end_token: str | None = None
    price: Price | None = None
    spending: Spending = field(default_factory=Spending, compare=False, repr=False)

    def request(self, messages: Sequence[Message], **more: Any) -> dict[str, Any]:
        """Make the body of a request.

        Parameters
        ----------
        messages
            The conversation so far; for a plain endpoint their texts become one prompt.
        more
            Further keys, such as ``tools`` or ``response_format``; None is left out.
        """
        asked = [dict(message) for message in messages]
        if self.system_prompt is not None and not any(m.get("role") == "system" for m in asked):
            asked.insert(0, {"role": "system", "content": self.system_prompt})
        said: dict[str, Any] = {"model": self.name}
        if self.plain:
            said["prompt"] = "\n\n".join(str(message["content"]) for message in asked)
        else:
            said["messages"] = asked
        return {
            **said,
            **self.inference,
            **{key: value for key, value in more.items() if value is not None},
        }


def chat_model(spec: ModelSpec, terms: Terms, params: ParamsSpec | None = None) -> ChatModel:
    """Make a model of what a benchmark file says.

    Parameters
    ----------
    spec
        The model.
    terms
        On what terms endpoints are called.
    params
        ``params:``, where what it says of models holds for this one; its own keys come first.

    Raises
    ------
    SecretError
        The key is not in the environment.
    """
    url, plain = _place(spec)
    reasoning = spec.reasoning or (params.reasoning if params else None)
    effort = reasoning.effort if reasoning else None
    prompt = spec.system_prompt
    if prompt is None and params is not None:
        prompt = params.system_prompt
    price = Price(spec.price.input, spec.price.output) if spec.price else None
    endpoint = terms.endpoint(
        url,
        secret=spec.api_key_secret,
        timeout_s=spec.timeout_seconds,
        max_retries=spec.max_retries,
    )
    return ChatModel(
        replace(endpoint, price=price),
        spec.name,
        plain,
        {
            **({"reasoning_effort": effort} if effort else {}),
            **(params.inference if params else {}),
            **spec.inference,
        },
        prompt,
        reasoning.end_token if reasoning else None,
        price,
    )


def _place(spec: ModelSpec) -> tuple[str, bool]:
    """Tell the whole URL, and whether it is one of plain completions."""
    parts = urlsplit(spec.url)
    path = parts.path.rstrip("/")
    if path.endswith(_PATHS["chat"]):
        found = "chat"
    elif path.endswith(_PATHS["completions"]):
        found = "completions"
    else:
        found = ""
    kind = spec.format or found or "chat"
    if not found and path.endswith("/v1"):  # the base, as the clients of OpenAI want it
        return urlunsplit(parts._replace(path=path + _PATHS[kind])), kind == "completions"
    return spec.url, kind == "completions"
