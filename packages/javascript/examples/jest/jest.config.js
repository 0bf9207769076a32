module.exports = { preset: "faradisc" };
