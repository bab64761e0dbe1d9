import { sketchedChannels, sketchIntake } from '@postern/testing'
import type { GatewayStore } from '../src/index.ts'
import { openSqliteStore } from '../src/index.ts'
import { createDice } from './dice.ts'
import { createMarked, createMarkedLife } from './marked-life.ts'
import { discardLog } from './open-test-store.ts'
import { Randomness } from './random-platform.ts'

/** Much happens at a store: people in all dialects, endpoints, workers, operators. @returns when it was closed */
export async function fillFile(path: string): Promise<number> {
  let time = Date.UTC(2026, 5, 1)
  const now = () => time
  const store = await openSqliteStore({ channels: sketchedChannels, path, now, log: discardLog })
  const live = createMarkedLife({ store, dice: createDice(8), now })
  const people = ['Ada', 'Bob'].map(createMarked)
  for (let step = 0; step < 100; step += 1) await live(people)
  const advance = (ms: number) => {
    time += ms
  }
  const platform = new Randomness({ store, now, advance }, 7)
  for (let step = 0; step < 120; step += 1) await platform.step()
  await mailToGroup(store)
  await talkInOddLetters(store)
  await store.close()
  return time
}

async function mailToGroup(store: GatewayStore): Promise<void> {
  for (const [at, who] of ['Ann', 'bob'].entries()) {
    const message = { thread_id: 'group', received_via: 'email' as const }
    const sender = { address: `@${who}@mail.test`, auth_method: 'none' as const, verified: false }
    await store.admit(
      sketchIntake(`mail ${at}`, { thread: { scope: 'v:group 00' }, message: { ...message, sender } }),
      'c',
    )
  }
}

/** Somebody reads a conversation whose ids hold what JSON writes in escapes. */
async function talkInOddLetters(store: GatewayStore): Promise<void> {
  for (const id of ['nul \0', 'mark \u001a0', 'quote " \\ / \n \u007f ä 🦆']) {
    await store.admit(sketchIntake(id, { message: { thread_id: 'odd' } }), 'c')
  }
  const thread = await store.transcript.openThread('reader', { transport: 'x', key: 'odd' })
  await store.transcript.bindStore(thread, { agent: 'echo', via: 'a2a', scope: 'public', key: 'odd' })
  await store.transcript.read(thread)
}
