"""Asks a server of its own with OpenAI's client for Python, and with LangChain's."""

import asyncio
import subprocess
from pathlib import Path

import openai
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

SERVER = Path(__file__).with_name("server.mjs")


def user(content):
    return [{"role": "user", "content": content}]


def check(name, got, expected):
    assert got == expected, f"{name}: got {got!r}, expected {expected!r}"
    print(f"ok {name}")


def ask_openai(url):
    client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
    check("models", sorted(model.id for model in client.models.list()), ["Embed", "Letters", "Writer"])
    answer = client.chat.completions.create(model="Writer", messages=user("hello “wörld”"))
    check("chat", answer.choices[0].message.content, "hello “wörld”")
    stream = client.chat.completions.create(model="Writer", messages=user("a b c"), stream=True)
    check("stream", [chunk.choices[0].delta.content for chunk in stream], ["", "a ", "b ", "c", None])
    with client.chat.completions.stream(model="Writer", messages=user("x y")) as stream:
        check("stream helper", stream.get_final_completion().choices[0].message.content, "x y")
    completion = client.completions.create(model="Letters", prompt=["ab", "cd"], max_tokens=1, echo=True)
    check("completions", [choice.text for choice in completion.choices], ["aba", "cdc"])
    embeddings = client.embeddings.create(model="Embed", input=["a", "bb"])
    check("embeddings", [row.embedding for row in embeddings.data], [[1, 0.25], [2, 0.25]])
    try:
        client.models.retrieve("Nobody")
        raise AssertionError("a model that is not there was found")
    except openai.NotFoundError as error:
        check("unknown model", (error.code, error.param), ("model_not_found", "model"))
    try:
        client.embeddings.create(model="Embed", input=[])
        raise AssertionError("no texts were embedded")
    except openai.BadRequestError as error:
        check("wrong request", error.param, "input")


async def ask_at_once(url):
    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

        async def ask(text):
            answer = await client.chat.completions.create(model="Writer", messages=user(text))
            return answer.choices[0].message.content

        texts = [f"request {i} {'x' * i}" for i in range(50)]
        check("50 different requests at once", await asyncio.gather(*map(ask, texts)), texts)


def ask_langchain(url):
    @tool
    def weather(city: str) -> str:
        """The weather of a city."""
        return city

    chat = ChatOpenAI(model="Writer", base_url=url, api_key="none")
    check("LangChain, invoke", chat.invoke("hi there").content, "hi there")
    check("LangChain, stream", "".join(chunk.content for chunk in chat.stream("one two")), "one two")
    check("LangChain, batch", [answer.content for answer in chat.batch(["r1", "r2 x"])], ["r1", "r2 x"])
    calls = chat.bind_tools([weather]).invoke("Oslo").tool_calls
    check("LangChain, tools", [(call["name"], call["args"]) for call in calls], [("weather", {"city": "Oslo"})])
    embeddings = OpenAIEmbeddings(model="Embed", base_url=url, api_key="none", check_embedding_ctx_length=False)
    check("LangChain, embeddings", embeddings.embed_documents(["a", "bbb"]), [[1, 0.25], [3, 0.25]])


with subprocess.Popen(["node", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
    try:
        base_url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        ask_openai(base_url)
        asyncio.run(ask_at_once(base_url))
        ask_langchain(base_url)
    finally:
        server.stdin.close()
