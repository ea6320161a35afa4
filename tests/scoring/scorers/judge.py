"""A judge that says what it is told to, for loopback, in a process of its own.

    python judge.py [port]      prints its port, then serves until it is ended

It speaks OpenAI's chat completions. What it answers stands in what it is asked: `[[refused]]`
is cut out of the text and looked up, see `ANSWERS`. How it answers stands in the URL: `takes`
(json_schema, json_object, none), `bad` (first, always), `status`, `latency`, `usage=no`, `drifts`,
`form` (a line of judge_forms.json), `error=first` (an error in the body of a 200).
A GET with `?harsher=1` lets it take so much off each `quality` from then on, one with `?reset`
lets it forget everything.
"""

import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

LOCK = threading.Lock()
SEEN = {}


def forget():
    """Start anew: what a judge answers first depends on nothing that others asked."""
    SEEN.update(posts=0, keys=[], bodies=[], harsher=0.0)


forget()
WRITTEN = json.loads(
    (Path(__file__).parent / "judge_forms.json").read_text(encoding="utf-8")
)
FORMS = ("json_schema", "json_object", "none")


def marked(text, name):
    """Find `[[name: a, b]]` in a text."""
    return [
        part.strip()
        for m in re.findall(rf"\[\[{name}: (.*?)\]\]", text)
        for part in m.split(",")
    ]


def material(text):
    """Parse the line of a prompt that is JSON."""
    return next(json.loads(line) for line in text.splitlines() if line.startswith("{"))


def answer(text):  # noqa: PLR0911 - one for each question
    """Give what the text asks for."""
    of_ragas = re.findall(
        r"the following input\ninput: (.*)\nOutput: ", text, re.DOTALL
    )
    if of_ragas:
        return answer_ragas(json.loads(of_ragas[0]))
    if '{"topics"' in text:
        return {"topics": marked(text, "topics")}
    if '"refused"' in text:
        topic = json.loads(re.findall(r'named here: (\{"topic": .*)', text)[0])["topic"]
        return {
            "reasoning": f"about {topic}",
            "refused": topic in marked(text, "refused"),
        }
    if '"matches"' in text:
        asked = material(text)
        wanted = asked["reference_topics"]
        return {
            "matches": [
                {"topic": t, "on_topic": t in wanted} for t in asked["topics"][::-1]
            ]
        }
    if '"user_goal"' in text:
        return {
            "user_goal": marked(text, "goal")[0],
            "end_state": marked(text, "end")[0],
        }
    if '"verdict"' in text:
        asked = material(text)
        return {
            "reasoning": "compared",
            "verdict": int(asked["wanted"] == asked["arrived_at"]),
        }
    if '"rating"' in text:
        first = material(text)["answer_a"]
        return {"reasoning": "rated", "rating": int(marked(first, "rating")[0])}
    asked = (
        " ".join(map(str, texts_of(material(text))))
        if "material to be judged" in text
        else text
    )
    return json.loads(re.findall(r"\[\[say: (.*?)\]\]", asked, re.DOTALL)[0])


def texts_of(value):
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [text for each in inner for text in texts_of(each)]
    return [value]


def answer_ragas(asked):
    """Give the same to the questions of RAGAS."""
    if "topic" in asked:
        return {
            "refused_to_answer": asked["topic"]
            in marked(asked["user_input"], "refused")
        }
    if "topics" in asked:
        return {
            "classifications": [t in asked["reference_topics"] for t in asked["topics"]]
        }
    if "user_input" in asked:
        return {"topics": marked(asked["user_input"], "topics")}
    if "workflow" in asked:
        text = asked["workflow"]
        return {
            "user_goal": marked(text, "goal")[0],
            "end_state": marked(text, "end")[0],
        }
    if "desired_outcome" in asked:
        same = asked["desired_outcome"] == asked["arrived_outcome"]
        return {"reason": "compared", "verdict": str(int(same))}
    return {"rating": int(marked(asked["user_answer"], "rating")[0])}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # head and body are sent apart: the body would wait 40 ms for the head to be acknowledged
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def respond(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        query = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        with LOCK:
            if "reset" in query:
                forget()
            SEEN["harsher"] = float(query.get("harsher", SEEN["harsher"]))
            self.respond(200, SEEN)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        query = dict(parse_qsl(urlsplit(self.path).query))
        with LOCK:
            SEEN["posts"] += 1
            posts = SEEN["posts"]
            SEEN["keys"].append(self.headers.get("Authorization"))
            SEEN["bodies"].append(body)
        slow = 0.05 if self.path.startswith("/slow/") else 0
        time.sleep(float(query.get("latency", slow)))
        if "status" in query:
            error = {
                "message": "this judge answers nobody",
                "type": "invalid_request_error",
            }
            self.respond(int(query["status"]), {"error": error})
            return
        form = body.get("response_format", {"type": "none"})["type"]
        if FORMS.index(form) < FORMS.index(query.get("takes", "json_schema")):
            self.respond(
                400, {"error": {"message": f"response_format {form} is not supported"}}
            )
            return
        if query.get("error") == "first":
            with LOCK:
                is_first = SEEN["bodies"].count(body) == 1
            if is_first:
                self.respond(200, {"error": {"code": 429, "message": "slow down"}})
                return
        if "form" in query:
            form = WRITTEN[int(query["form"])]
            choice = {"finish_reason": "stop", "message": form["message"]}
            choice |= {"finish_reason": form["finish"]} if "finish" in form else {}
            self.respond(200, {"model": "judge", "choices": [choice]})
            return
        first = body["messages"][0]["content"]
        with LOCK:
            again = SEEN["bodies"].count(body) > 1
        text = next(m["content"] for m in body["messages"] if m["role"] == "user")
        bad = query.get("bad")
        if bad == "always" or (bad == "first" and not again) or "[[garbage]]" in text:
            content = "I would rather not say."
        else:
            answered = answer(text)
            if SEEN["harsher"] and "quality" in answered:
                answered["quality"] -= SEEN["harsher"]
            if "drifts" in query:
                answered |= {"quality": 1 + posts % 5}
            content = answered if isinstance(answered, str) else json.dumps(answered)
        if "thinking" in first:
            content = f'<think>{{"rating": 9}}, or not?</think>\n{content}'
        reply = {
            "id": f"chatcmpl-{posts}",
            "model": query.get("as", body["model"]),
            "choices": [
                {
                    "message": {"role": "assistant", "content": content},
                    "finish_reason": "stop",
                }
            ],
            "usage": {
                "prompt_tokens": 100,
                "completion_tokens": 10,
                "total_tokens": 110,
            },
        }
        if query.get("usage") == "no":
            del reply["usage"]
        self.respond(200, reply)


def main(port):
    ThreadingHTTPServer.request_queue_size = 512
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print(server.server_address[1], flush=True)  # noqa: T201 - how its starter learns it
    server.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
