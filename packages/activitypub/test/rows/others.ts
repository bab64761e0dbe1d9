import { expect } from 'vitest'
import { composeActivity, composeDelete, composeUpdate, echoActor, objectIdOf } from '../activity.ts'
import { composeNote, postActivity, publicCollection } from '../person.ts'
import type { Stage } from '../stage.ts'
import type { Row, RowCase } from './row.ts'
import { taken, titlesOf, withoutEffect } from './row.ts'
import type { Members } from './send.ts'
import { afterNote, expectRead, forged, onlyAgent } from './send.ts'

const changes = (...names: readonly string[]) => titlesOf('changes', ...names)

/** What alice does to an object that is not hers. */
function actOn(title: string, type: string, object: unknown, members: Members = {}): RowCase {
  return {
    title,
    send: ({ gateway, alice }) => postActivity(gateway, alice, composeActivity(alice, type, object, members)),
    expect: withoutEffect,
  }
}

async function expectUnchanged(stage: Stage): Promise<void> {
  expect(await stage.stored()).toMatchObject([{ state: 'received', flags: [] }])
  await expectRead(stage, 'Hello')
}

export const others: readonly Row[] = [
  {
    row: 'AP-53',
    title: 'an existing post with a wider audience',
    cases: [
      {
        title: 'created again by its author',
        send: stage =>
          afterNote(
            stage,
            note => {
              const wide = { to: [publicCollection], cc: [echoActor] }
              const object = { ...(note.object as Members), ...wide }
              return postActivity(stage.gateway, stage.alice, { ...note, ...wide, id: `${note.id}/again`, object })
            },
            onlyAgent,
          ),
        expect: taken,
        async after({ gateway, alice, stored }) {
          const [record, ...more] = await stored()
          expect(more).toEqual([])
          const object = record?.message.id.replace('/activity', '') ?? ''
          const [known] = await gateway.store.findAuthored('activitypub', { author: alice.id, object })
          expect(known).toMatchObject({ scope: alice.id, target: { visibility: 'direct' } })
        },
      },
      {
        title: 'created by somebody else',
        send: stage =>
          afterNote(
            stage,
            note => {
              const { gateway, mallory } = stage
              return postActivity(gateway, mallory, composeNote(mallory, { id: objectIdOf(note) }))
            },
            onlyAgent,
          ),
        expect: { status: 401, code: 'signer_mismatch', turns: 1 },
      },
    ],
    shownBy: changes('AP-53: an edit does not widen who may read, nor does a second Create of the same post'),
  },
  {
    row: 'AP-54',
    title: 'an Update of somebody else’s post',
    cases: [
      {
        title: 'is refused',
        send: stage =>
          afterNote(stage, note =>
            postActivity(stage.gateway, stage.mallory, composeUpdate(stage.mallory, note, { content: 'forged' })),
          ),
        expect: { status: 401, code: 'signer_mismatch', turns: 1 },
        after: expectUnchanged,
      },
    ],
    shownBy: changes('AP-54: an Update of somebody else’s post is refused, and the post is unchanged'),
  },
  {
    row: 'AP-55',
    title: 'a Delete of what is somebody else’s',
    cases: ['post', 'actor'].map(what => ({
      title: what,
      send: (stage: Stage) =>
        afterNote(stage, note => {
          const { gateway, mallory, alice } = stage
          return postActivity(gateway, mallory, composeDelete(mallory, what === 'post' ? objectIdOf(note) : alice.id))
        }),
      expect: { status: 202, turns: 1 },
      after: expectUnchanged,
    })),
    shownBy: changes('AP-55: a Delete of what is not the actor’s own is taken and has no effect'),
  },
  {
    row: 'AP-56',
    title: 'an Announce with a forged post in it',
    cases: [actOn('of mallory', 'Announce', forged, { to: [publicCollection], cc: [echoActor] })],
    shownBy: titlesOf('reactions', 'AP-56: what a boost has in it of the post is never read'),
  },
  {
    row: 'AP-57',
    title: 'an answer to what nobody asked, and what somebody else did undone',
    cases: [
      actOn('Accept', 'Accept', { id: `${echoActor}/follows/1`, type: 'Follow', actor: echoActor }),
      actOn('Reject', 'Reject', `${echoActor}/follows/1`),
      {
        title: 'Undo',
        async send({ gateway, alice, mallory }) {
          const follow = composeActivity(alice, 'Follow', echoActor)
          await postActivity(gateway, alice, follow)
          return postActivity(gateway, mallory, composeActivity(mallory, 'Undo', follow))
        },
        expect: { status: 202 },
        async after({ gateway, alice }) {
          const key = { via: 'activitypub', agent: 'echo', relation: 'follower', peer: alice.id } as const
          expect(await gateway.store.findRelation(key)).toBeDefined()
        },
      },
    ],
    shownBy: titlesOf('follows', 'AP-57: an Undo of somebody else’s Follow has no effect'),
  },
]
