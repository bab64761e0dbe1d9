import { sketchIntake } from '@postern/testing'
import type { StoreDesk } from '../src/index.ts'
import { openSqliteDesk } from '../src/index.ts'
import { createDice } from './dice.ts'
import { createMarked, createMarkedLife } from './marked-life.ts'
import { silentLog } from './open-test-desk.ts'
import { RandomWorld } from './random-world.ts'

/** Much happens at a desk: people in all dialects, doors, workers, operators. @returns when it was closed */
export async function fillFile(path: string): Promise<number> {
  let time = Date.UTC(2026, 5, 1)
  const now = () => time
  const desk = await openSqliteDesk({ path, now, log: silentLog })
  const live = createMarkedLife({ desk, dice: createDice(8), now })
  const people = ['Ada', 'Bob'].map(createMarked)
  for (let step = 0; step < 100; step += 1) await live(people)
  const advance = (ms: number) => {
    time += ms
  }
  const world = new RandomWorld({ desk, now, advance }, 7)
  for (let step = 0; step < 120; step += 1) await world.step()
  await mailToGroup(desk)
  await talkInOddLetters(desk)
  await desk.close()
  return time
}

async function mailToGroup(desk: StoreDesk): Promise<void> {
  for (const [at, who] of ['Ann', 'bob'].entries()) {
    const message = { thread_id: 'group', received_via: 'email' as const }
    const sender = { address: `@${who}@mail.test`, auth_method: 'none' as const, verified: false }
    await desk.admit(
      sketchIntake(`mail ${at}`, { thread: { scope: 'v:group 00' }, message: { ...message, sender } }),
      'c',
    )
  }
}

/** Somebody reads a conversation whose ids hold what JSON writes in escapes. */
async function talkInOddLetters(desk: StoreDesk): Promise<void> {
  for (const id of ['nul \0', 'mark \u001a0', 'quote " \\ / \n \u007f ä 🦆']) {
    await desk.admit(sketchIntake(id, { message: { thread_id: 'odd' } }), 'c')
  }
  const thread = await desk.transcript.openThread('reader', { transport: 'x', key: 'odd' })
  await desk.transcript.bindDesk(thread, { agent: 'echo', via: 'a2a', scope: 'public', key: 'odd' })
  await desk.transcript.read(thread)
}
