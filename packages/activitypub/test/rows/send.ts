import { expect } from 'vitest'
import { echoActor } from '../activity.ts'
import type { PostAnswer, PostOptions } from '../person.ts'
import { composeNote, postActivity } from '../person.ts'
import type { Stage } from '../stage.ts'
import type { RowCase } from './row.ts'
import { refused } from './row.ts'

export type Members = Record<string, unknown>

export const malformed = { status: 400, code: 'malformed', turns: 0, fetches: 0 } as const

export const unsigned = { ...refused, code: 'unsigned', fetches: 0 } as const

export const invalid = { ...refused, code: 'signature_invalid', fetches: 0 } as const

export const as = 'https://www.w3.org/ns/activitystreams'

export const onlyAgent = { to: [echoActor], cc: [] }

export const forged = {
  id: 'https://evil.test/notes/1',
  type: 'Note',
  content: '<p>forged</p>',
  attributedTo: 'https://evil.test/users/mallory',
}

/** A note with these members, and an activity with those around it. */
export function noteWith(title: string, note: Members, activity: Members, outcome: RowCase['expect']): RowCase {
  return {
    title,
    send: ({ gateway, alice }) => postActivity(gateway, alice, composeNote(alice, note, activity)),
    expect: outcome,
  }
}

/** An honest note, signed in another way. */
export function signedWith(
  title: string,
  options: PostOptions | ((stage: Stage) => PostOptions),
  outcome: RowCase['expect'] = invalid,
): RowCase {
  return {
    title,
    send: stage =>
      postActivity(
        stage.gateway,
        stage.alice,
        composeNote(stage.alice),
        typeof options === 'function' ? options(stage) : options,
      ),
    expect: outcome,
  }
}

/** A note is there already; what then? */
export async function afterNote(
  { gateway, alice }: Stage,
  send: (note: Members) => Promise<PostAnswer>,
  audience: Members = {},
): Promise<PostAnswer> {
  const note = composeNote(alice, audience, audience)
  await postActivity(gateway, alice, note)
  return send(note)
}

/** What an agent reads of the only post. */
export async function expectRead({ stored }: Stage, text: string): Promise<void> {
  const [record] = await stored()
  expect(record?.message.parts[0]).toMatchObject({ kind: 'text', content: text })
}
