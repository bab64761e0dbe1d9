/** Streams more text than anybody can read as fast as it arrives. */
export async function* handle() {
  for (let index = 0; index < 60_000; index++) yield `word ${index} `
}
