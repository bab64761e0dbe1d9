/** Collects ids that the server returned, because requests that name them reach further. */
interface KnownIds {
  readonly list: readonly string[]
  learn(text: string): void
}

const maxIds = 200
const pattern = /"(?:id|\w*[iI]d|\w+_id|path|name|cursor|next|url|token)":"([^"\\]{1,200})"/g

export function createKnownIds(): KnownIds {
  const list: string[] = []
  let index = 0
  return {
    list,
    learn(text) {
      for (const [, id] of text.matchAll(pattern)) {
        if (!id || list.includes(id)) continue
        list[index % maxIds] = id
        index += 1
      }
    },
  }
}
