export default { test: { globalSetup: "faradisc/vitest/global-setup", setupFiles: "faradisc/vitest/setup" } };
