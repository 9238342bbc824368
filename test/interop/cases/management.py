"""The model repository, trace and log settings with tritonclient, over both protocols."""

import tritonclient.grpc
import tritonclient.http
from support import add_sub_inputs, expect_add_sub, expect_equal, grpc_client, http_client, refused

BOTH = ((tritonclient.http, http_client), (tritonclient.grpc, grpc_client))


def _index(client):
    index = client.get_model_repository_index()
    models = index if isinstance(index, list) else [
        {"name": one.name, "version": one.version, "state": one.state, "reason": one.reason} for one in index.models
    ]
    return {(one["name"], one.get("version", "")): (one.get("state", ""), one.get("reason", "")) for one in models}


def the_index_lists_every_version_and_its_state():
    for _, connect in BOTH:
        with connect() as client:
            index = _index(client)
            expect_equal([index[name] for name in (("AddSub", "1"), ("Versions", "1"), ("Versions", "3"))], [("READY", "")] * 3)


def models_load_and_unload():
    for module, connect in BOTH:
        with connect("managed") as client:
            expect_equal(client.is_model_ready("Spare"), False)
            client.load_model("Spare")
            expect_equal(client.is_model_ready("Spare"), True)
            expect_add_sub(client.infer("Spare", add_sub_inputs(module)))
            client.unload_model("Spare")
            expect_equal(client.is_model_ready("Spare"), False)
            while _index(client)["Spare", "1"] == ("UNLOADING", ""):
                pass
            expect_equal(_index(client)["Spare", "1"], ("UNAVAILABLE", "unloaded"))
            with refused("Request for unknown model: 'Spare' has no available versions"):
                client.infer("Spare", add_sub_inputs(module))
            expect_equal((client.is_server_ready(), client.is_model_ready("AddSub")), (True, True))


def a_loaded_model_may_be_loaded_again():
    for module, connect in BOTH:
        with connect("managed") as client:
            client.load_model("AddSub")
            expect_add_sub(client.infer("AddSub", add_sub_inputs(module)))


def unloading_what_is_not_there_succeeds_and_loading_it_fails():
    for _, connect in BOTH:
        with connect("managed") as client:
            client.unload_model("Nothing")
            with refused("failed to load 'Nothing'"):
                client.load_model("Nothing")


def loading_by_clients_needs_the_explicit_mode():
    for _, connect in BOTH:
        with connect() as client, refused("explicit model load / unload is not allowed"):
            client.load_model("AddSub")


def log_settings_are_told_and_changed():
    with http_client() as client:
        before = client.get_log_settings()
        expect_equal((before["log_info"], before["log_verbose_level"], before["log_format"]), (True, 0, "default"))
        expect_equal(client.update_log_settings({"log_verbose_level": 1, "log_info": False})["log_verbose_level"], 1)
        expect_equal(client.update_log_settings({"log_verbose_level": 0, "log_info": True}), before)
        with refused("log file location can not be updated through network protocol"):
            client.update_log_settings({"log_file": "elsewhere.log"})
    with grpc_client() as client:
        changed = client.update_log_settings({"log_verbose_level": 1}).settings
        expect_equal((changed["log_verbose_level"].uint32_param, changed["log_info"].bool_param), (1, True))
        client.update_log_settings({"log_verbose_level": 0})
        expect_equal(client.get_log_settings().settings["log_verbose_level"].uint32_param, 0)


def trace_settings_are_told_and_changed_and_inherited_by_models():
    with http_client() as client:
        before = client.get_trace_settings()
        expect_equal((before["trace_level"], before["trace_rate"], before["trace_count"]), (["OFF"], "1000", "-1"))
        expect_equal(client.update_trace_settings(settings={"trace_rate": "7"})["trace_rate"], "7")
        expect_equal(client.get_trace_settings("AddSub")["trace_rate"], "7")
        expect_equal(client.update_trace_settings("AddSub", {"trace_rate": "9"})["trace_rate"], "9")
        expect_equal(client.get_trace_settings()["trace_rate"], "7")
        expect_equal(client.update_trace_settings("AddSub", {"trace_rate": None})["trace_rate"], "7")
        expect_equal(client.update_trace_settings(settings={"trace_rate": None})["trace_rate"], "1000")
        with refused("Unable to parse 'trace_rate', got: often"):
            client.update_trace_settings(settings={"trace_rate": "often"})
    with grpc_client() as client:
        expect_equal(list(client.update_trace_settings(settings={"trace_rate": "7"}).settings["trace_rate"].value), ["7"])
        expect_equal(list(client.update_trace_settings(settings={"trace_rate": None}).settings["trace_rate"].value), ["1000"])
        expect_equal(list(client.get_trace_settings("AddSub").settings["trace_level"].value), ["OFF"])
