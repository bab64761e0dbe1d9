import { readdirSync, readFileSync } from 'node:fs'
import { trimReply } from '../../src/body/reply-trim.ts'
import type { Scored } from './score.ts'

/** Discourse's corpus of replies: the text of each mail, and what of it is new. Exact but for space at its ends. */
export async function scoreReplies(folder: URL): Promise<readonly Scored[]> {
  return readdirSync(folder).map(name => {
    const text = readFileSync(new URL(name, folder), 'utf8').replace(/\r\n/g, '\n')
    const expected = readFileSync(new URL(`../trimmed/${name}`, folder), 'utf8')
      .replace(/\r\n/g, '\n')
      .trim()
    const found = trimReply(text).trim()
    const note = found.length > expected.length ? 'kept too much' : 'cut too much'
    return { name, isRight: found === expected, note }
  })
}
