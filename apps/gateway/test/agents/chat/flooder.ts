/** Streams more text than anybody can read as fast as it arrives. */
export async function* handle() {
  for (let at = 0; at < 60_000; at++) yield `word ${at} `
}
