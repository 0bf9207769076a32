import faradisc from "../index.js";

/** Vitest calls what this returns after the tests. */
export default async () => (await faradisc.startPool()).stop;
