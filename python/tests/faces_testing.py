"""The program's other faces, asked as their clients ask them: an assistant's line by line, a browser's over HTTP."""

import base64
import json
import re
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

from package_testing import PROGRAM

TOOLS = {"kernel": "kernel", "predict": "predict", "memory": "memory", "collective": "collective", "simulate": "simulate",
         "plan serve": "plan_serve", "plan train": "plan_train", "diagnose": "diagnose", "gpus": "gpus", "models": "models", "clusters": "clusters"}


def by_value(query):
    """A query whose file goes with it: of a trace, of rows, of a recorded program."""
    def sent(name, value):
        if name not in ("trace", "data", "model") or not Path(value).is_file():
            return value
        return {"name": Path(value).name, "base64": base64.b64encode(Path(value).read_bytes()).decode()}

    return {name: sent(name, value) for name, value in query.items()}


def by_assistant(questions):
    """Answers of `tilecast mcp`, in order; None where it refuses, "no tool" where a question is none of its tools."""
    lines = [{"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}},
             {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    answers = ["no tool"] * len(questions)
    for number, (question, query) in enumerate(questions):
        if question in TOOLS:
            lines.append({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": TOOLS[question], "arguments": by_value(query)}})
    # Asked as a client does, which waits for its answers: the end of the input would end what takes long.
    with subprocess.Popen([PROGRAM, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        server.stdin.write("".join(json.dumps(line) + "\n" for line in lines))
        server.stdin.flush()
        for _ in range(len(lines) - 1):
            message = json.loads(server.stdout.readline())
            if message["id"] == "hello":
                continue
            result = message["result"]
            answer = json.loads(result["content"][0]["text"]) if not result["isError"] else None
            structured = result["structuredContent"]
            if answer is not None and structured != (answer if isinstance(answer, dict) else {"answers": answer}):
                raise AssertionError(f"text and structure differ: {message}")
            answers[message["id"]] = answer
        server.stdin.close()
    return answers


class HttpFace:
    """`tilecast http` on a port of its own, for as long as the block lasts."""

    def __enter__(self):
        self.server = subprocess.Popen([PROGRAM, "http", "--port", "0", "--time-limit", "600"], stderr=subprocess.PIPE, text=True)
        line = self.server.stderr.readline()
        self.address = re.search(r"http://\S+", line).group()
        return self

    def __exit__(self, *_):
        self.server.terminate()
        self.server.communicate()

    def ask(self, question, query):
        """The answer, or None where it refuses."""
        path = "/v1/" + question.replace(" ", "/")
        request = urllib.request.Request(self.address + path, json.dumps(by_value(query)).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request) as response:
                return json.loads(response.read())
        except urllib.error.HTTPError as refusal:
            if not 400 <= refusal.code < 500:
                raise
            return None
