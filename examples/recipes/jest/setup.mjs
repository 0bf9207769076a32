import { startFaradisc } from "../faradisc.mjs";

export default async () => {
  globalThis.faradisc = await startFaradisc();
};
