/** More words than anybody reads as fast as they come. */
export async function* handle() {
  for (let at = 0; at < 60_000; at++) yield `word ${at} `
}
