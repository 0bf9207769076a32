import { startFaradisc } from "../faradisc.mjs";

/** Vitest calls what this returns after the tests. */
export default async () => (await startFaradisc()).stop;
