export default () => globalThis.faradisc.stop();
