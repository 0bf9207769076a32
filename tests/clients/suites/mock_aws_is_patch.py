"""A pytest plugin: suites that are written for moto's mock_aws run on faradisc.local.patch instead."""

import moto

import faradisc.local

moto.mock_aws = faradisc.local.patch
