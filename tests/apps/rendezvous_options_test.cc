// SPDX-License-Identifier: Apache-2.0
#include "apps/launch/rendezvous_options.h"

#include "tests/apps/launch_case.h"

namespace rankrun::launch {
namespace {

using agent::LaunchConfig;

TEST_CASE("one node in every spelling, and no more than one", "[launch][rendezvous]") {
  for (const auto* value : {"1", "1:1", " 1 ", " 1 : +1 ", "0_1"}) {
    CAPTURE(value);
    CHECK(config({std::string("--nnodes=") + value}).local_world_size == 1);
  }
  for (const auto* value : {"0", "1:0", "2:1", "a", "1:2:3", "", ":", "1:", "-1", "0:0"}) {
    CHECK_THAT(refused({std::string("--nnodes=") + value}),
               Catch::StartsWith(std::string("--nnodes=") + value + ": ") &&
                   Catch::EndsWith("use N or MIN:MAX with 1 <= MIN <= MAX"));
  }
  for (const auto* value : {"2", "1:2", "1:99999999999999999999"}) {
    CHECK_THAT(refused({std::string("--nnodes=") + value}),
               Catch::Contains("not supported yet; use --nnodes=1"));
  }
}

TEST_CASE("the store's address comes from the endpoint or the address options",
          "[launch][rendezvous]") {
  const auto master = [](const Words& arguments) {
    const LaunchConfig made = config(arguments);
    return made.master_addr + " " + std::to_string(made.master_port);
  };
  CHECK(master({"--master-port=29500"}) == "127.0.0.1 29500");
  CHECK(master({"--master-port= +29_500"}) == "127.0.0.1 29500");
  CHECK(master({"--master-addr=10.0.0.1"}) == "10.0.0.1 0");
  CHECK(master({"--local-addr=node1"}) == "node1 0");
  CHECK(master({"--master-addr=a", "--local-addr=b"}) == "a 0");
  CHECK(master({"--master-addr=", "--local-addr=b"}) == "b 0");
  CHECK(master({"--master-addr=::1", "--master-port=1"}) == "::1 1");
  CHECK(master({"--master-addr=[::1]"}) == "::1 0");
  CHECK(master({"--rdzv-endpoint=[::1]:7"}) == "::1 7");
  CHECK(master({"--rdzv-endpoint= node1:7 "}) == "node1 7");
  CHECK(master({"--rdzv-endpoint=node1", "--master-port=8"}) == "node1 8");
  CHECK(master({"--rdzv-endpoint=", "--master-port=8"}) == "127.0.0.1 8");
  CHECK(master({"--rdzv-backend=c10d", "--rdzv-endpoint=node1:29400"}) == "127.0.0.1 0");
  CHECK(master({"--standalone", "--rdzv-endpoint=node1:29400"}) == "127.0.0.1 0");
}

TEST_CASE("addresses and ports that cannot be are refused", "[launch][rendezvous]") {
  CHECK_THAT(refused({"--rdzv-endpoint=node1"}), Catch::Contains("has no port"));
  CHECK_THAT(refused({"--rdzv-endpoint=node1:99999"}), Catch::Contains("from 0 to 65535"));
  CHECK_THAT(refused({"--rdzv-endpoint=no de:1"}), Catch::Contains("no host name has"));
  CHECK_THAT(refused({"--rdzv-backend=c10d", "--rdzv-endpoint=node1:x"}),
             Catch::Contains("--rdzv-endpoint"));
  CHECK_THAT(refused({"--master-port=65536"}), Catch::Contains("from 0 to 65535"));
  CHECK_THAT(refused({"--master-port=-1"}), Catch::Contains("from 0 to 65535"));
  CHECK_THAT(refused({"--master-port=x"}), Catch::Contains("use a whole number"));
  CHECK_THAT(refused({"--master-addr=no de"}), Catch::StartsWith("--master-addr: "));
  CHECK_THAT(refused({"--master-addr=node1:29500"}), Catch::Contains("--master-port"));
  CHECK_THAT(refused({}, {{"PET_LOCAL_ADDR", "a:1"}}), Catch::StartsWith("PET_LOCAL_ADDR=a:1: "));
}

TEST_CASE("the job's id is the given one, else random, else none", "[launch][rendezvous]") {
  CHECK(config({}).run_id == "random");
  CHECK(config({"--rdzv-id=job7"}).run_id == "job7");
  CHECK(config({"--standalone", "--rdzv-id=job7"}).run_id == "random");
  CHECK(config({"--master-port=29500"}).run_id == "none");
  CHECK(config({"--rdzv-backend=c10d"}).run_id == "none");
  CHECK(config({"--rdzv-id="}).run_id == "random");
  CHECK(config({"--rdzv-backend=c10d", "--rdzv-id="}).run_id == "random");
}

TEST_CASE("backends that are not there are refused by name", "[launch][rendezvous]") {
  CHECK(config({"--rdzv-backend=c10d"}).run_id == "none");
  CHECK(config({"--standalone", "--rdzv-backend=etcd"}).run_id == "random");
  for (const auto* value : {"etcd", "etcd-v2", "nope", "", "C10D"}) {
    CHECK_THAT(refused({std::string("--rdzv-backend=") + value}),
               Catch::EndsWith("use c10d or static"));
  }
}

TEST_CASE("rendezvous options are key=value pairs", "[launch][rendezvous]") {
  for (const auto* value : {" a=1 , b=x=y", "", " ", "a==b", "rank=1", "'join_timeout=0'"}) {
    CAPTURE(value);
    CHECK(config({std::string("--rdzv-conf=") + value}).run_id == "random");
  }
  for (const auto* key :
       {"backend", "endpoint", "run_id", "min_nodes", "max_nodes", "local_addr"}) {
    CHECK_THAT(refused({std::string("--rdzv-conf=a=1, ") + key + " =x"}),
               Catch::Contains("--rdzv-endpoint"));
  }
  for (const auto* value : {"abc", "a=", "=1", "a=1,,b=2", "a=1,", "a= ", ",", "="}) {
    CHECK_THAT(refused({std::string("--rdzv-conf=") + value}), Catch::Contains("key=value"));
  }
}

TEST_CASE("the values of known rendezvous options are checked", "[launch][rendezvous]") {
  for (const auto* value : {"join_timeout= +1_0 ,last_call_timeout=1",
                            "join_timeout=x,join_timeout=5",
                            "is_host=YES,use_libuv=f",
                            "store_type=tcp"}) {
    CAPTURE(value);
    CHECK(config({std::string("--rdzv-conf=") + value}).run_id == "random");
  }
  for (const auto* key : {"join_timeout",
                          "last_call_timeout",
                          "close_timeout",
                          "heartbeat_timeout",
                          "keep_alive_interval",
                          "keep_alive_max_attempt",
                          "read_timeout",
                          "timeout"}) {
    for (const auto* value : {"0", "-1", "x", "1.5"}) {
      const std::string entry = std::string(key) + "=" + value;
      CHECK(refused({"--rdzv-conf=a=1," + entry}) ==
            "--rdzv-conf: " + entry + ": invalid value; use a whole number from 1");
    }
  }
  CHECK_THAT(refused({"--rdzv-conf=is_host=maybe"}), Catch::EndsWith("use true or false"));
  CHECK_THAT(refused({"--rdzv-conf=use_libuv=2"}), Catch::EndsWith("use true or false"));
  for (const auto* value : {"file", "foo"}) {
    CHECK_THAT(refused({std::string("--rdzv-conf=store_type=") + value}),
               Catch::EndsWith("leave it out: rankrun serves its store over TCP"));
  }
}

TEST_CASE("a node rank matters to static only", "[launch][rendezvous]") {
  CHECK(config({"--node-rank=0", "--master-port=0"}).notices.empty());
  CHECK(refused({"--node-rank=1", "--master-port=0"}) == "--node-rank=1: invalid value; use 0");
  CHECK_THAT(refused({"--node-rank=-1", "--rdzv-endpoint=a:1"}), Catch::Contains("use 0"));
  for (const auto& more : {"--rdzv-backend=c10d", "--standalone", "--rdzv-id=bare"}) {
    CHECK(config({"--node-rank=1", more}).notices ==
          Words{"--node-rank=1 is ignored: only --rdzv-backend=static ranks nodes by it"});
  }
}

}  // namespace
}  // namespace rankrun::launch
