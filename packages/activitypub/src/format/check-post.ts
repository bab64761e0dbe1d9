// Refuses posts and activities that are too large to read.

import { Rejection } from '@postern/message'
import { checkContext } from './check-context.ts'
import type { JsonObject } from './json-object.ts'
import { asObject, listOf, typeOf } from './json-object.ts'

/** The most entries of each member. No honest post has more, and each entry costs work later. */
const maxEntries: Readonly<Record<string, number>> = {
  tag: 300,
  to: 300,
  cc: 300,
  bto: 300,
  bcc: 300,
  audience: 300,
  attachment: 64,
  image: 64,
  object: 300,
}

/** The most UTF-16 code units of one text of a post. Processing a longer text would delay all other senders. */
const maxTextChars = 256 * 1024

const readableTypes: ReadonlySet<string | undefined> = new Set([
  ...['Note', 'Article', 'Page', 'Question', 'ChatMessage'],
  ...['Audio', 'Event', 'Image', 'Video'],
])

/** Returns true if a document is a post that an agent can read. */
export function isReadablePost(json: unknown): boolean {
  return readableTypes.has(typeOf(json))
}

/** Checks that the literal names of a post have their usual meaning and that it can be read. @throws Rejection `malformed`, `too_large` */
export function checkPost(post: JsonObject): void {
  checkContext(post)
  checkEntryCounts(post)
  checkTexts(post)
}

export function checkEntryCounts(json: JsonObject): void {
  for (const name in maxEntries) {
    const maxCount = maxEntries[name] ?? 0
    if (listOf(json[name]).length > maxCount) {
      throw new Rejection('too_large', `Cannot read activity: more than ${maxCount} entries in "${name}"`)
    }
  }
}

function checkTexts({ content, contentMap, summary, summaryMap }: JsonObject): void {
  const maps = [contentMap, summaryMap].flatMap(map => Object.values(asObject(map) ?? {}))
  const texts = [content, summary, ...maps]
  if (texts.some(text => typeof text === 'string' && text.length > maxTextChars)) {
    throw new Rejection('too_large', `Cannot read activity: a text of more than ${maxTextChars} characters`)
  }
}
