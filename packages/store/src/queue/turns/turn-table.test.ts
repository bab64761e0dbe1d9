import { DatabaseSync } from 'node:sqlite'
import { LeaseLost } from '@postern/message'
import type { Intake, QueueMode, Turn } from '@postern/pipeline'
import { sketchAnswer, sketchIntake } from '@postern/testing'
import { drawCount } from '@postern/testing/scale'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openStoreUnderTest } from '../../../test/open-test-store.ts'

const steps = ['say', 'edit', 'forget', 'cancel', 'lease', 'commit', 'release', 'expire'] as const
type Step = readonly [(typeof steps)[number], number]
type Tested = Awaited<ReturnType<typeof openStoreUnderTest>>

const leaseMs = 1_000
const via = 'a2a'
const speakers = ['ada', 'bob'] as const
const lanes: readonly (QueueMode | undefined)[] = [
  undefined,
  { mode: 'merge' },
  { mode: 'merge', windowMs: 500 },
  { mode: 'interrupt' },
]

/** Messages of every mode, by two people, in few threads and tasks, that are sent, edited, deleted and answered in any order. */
class Crowd {
  readonly committed: Turn[] = []
  readonly #runs: Turn[] = []
  readonly #tested: Tested
  #said = 0

  constructor(tested: Tested) {
    this.#tested = tested
  }

  async take([name, choice]: Step): Promise<unknown> {
    const { store, now, advance } = this.#tested
    const run = this.#runs[choice % Math.max(1, this.#runs.length)]
    const ways: Readonly<Record<Step[0], () => Promise<unknown> | unknown>> = {
      say: () => this.#say(choice),
      edit: () => this.#edit(choice),
      forget: () => store.withdraw(via, [{ kind: 'forget', ...wordsOf(choice % Math.max(1, this.#said)) }]),
      cancel: () => store.cancelTask({ owner: 'o', id: nameTask(5 + (choice % 3), choice) }),
      lease: async () =>
        this.#runs.push(...(await store.leaseTurns({ holder: `w${choice % 2}`, limit: 1 + (choice % 3), leaseMs }))),
      commit: () => run && this.commit(run),
      release: () => run && unlessLost(store.release(run, { dueAt: now() + (choice % 700) })),
      expire: () => advance(choice % 2 ? 500 : leaseMs),
    }
    return ways[name]()
  }

  #say(choice: number): Promise<unknown> {
    const at = this.#said
    this.#said += 1
    // Each thread has one mode. Three threads have several tasks each, which may have ended in the meantime.
    const thread = choice % 8
    const task = thread >= 5 ? { owner: 'o', id: nameTask(thread, choice), context: `t${thread}` } : undefined
    const intake = intakeOf(at, { speaker: speakers[choice % 3 ? 0 : 1], thread, queueMode: lanes[thread % 4], task })
    return this.#tested.store.admit(intake, 'c').catch(() => undefined)
  }

  async #edit(choice: number): Promise<void> {
    const of = choice % Math.max(1, this.#said)
    const { store } = this.#tested
    const [message] = await store.findAuthored(via, wordsOf(of))
    if (!message) return
    const content = `edit ${choice} of ${of}`
    const intake = intakeOf(of, {
      speaker: 'ada',
      thread: Number(message.thread_source.slice(1)),
      queueMode: { mode: 'merge' },
    })
    const parts = [{ kind: 'text', mime: 'text/plain', content } as const]
    await store.admit(
      {
        ...intake,
        duplicateKey: `${content} ${this.#tested.now()}`,
        ...(choice % 5 === 0 && { audience: 'direct' }),
        message: { ...intake.message, id: content, kind: 'edit', parts },
        thread: { scope: 'public', references: [message.id] },
      },
      'c',
    )
  }

  async commit(run: Turn): Promise<void> {
    if (await unlessLost(this.#tested.store.commit(run, sketchAnswer(run, 'heard', [`place of ${run.message}`])))) {
      this.committed.push(run)
    }
  }

  /** Works until nothing is left. Returns false if that never happens. */
  async finish(): Promise<boolean> {
    const { store, advance } = this.#tested
    for (let round = 0; round < 500; round += 1) {
      advance(60_000)
      const runs = await store.leaseTurns({ holder: 'last', limit: 50, leaseMs })
      if (runs.length === 0) return true
      for (const run of runs) await this.commit(run)
    }
    return false
  }
}

const nameTask = (thread: number, choice: number) => `task ${(choice >> 3) % 3} of ${thread}`

function wordsOf(at: number) {
  return { author: 'https://peer.test/author', object: `note ${at}` }
}

function intakeOf(
  at: number,
  { speaker, thread, ...rest }: { speaker: string; thread: number } & Partial<Pick<Intake, 'queueMode' | 'task'>>,
): Intake {
  const sender = {
    address: `@${speaker}@peer.test`,
    auth_method: 'a2a-jwt' as const,
    verified: true,
    identities: [
      {
        subject: speaker,
        issuer: 'peer.test',
        method: 'urn:mentionable:auth:a2a-jwt:v0.1',
        assurance: 'oauth',
        audience: '@echo@agents.test',
        issued_at: '2026-01-01T00:00:00.000Z',
        proof: { type: 'transport' as const, verified_by: '@echo@agents.test' },
      },
    ],
  }
  return sketchIntake(`m${at}`, { ...rest, authorship: wordsOf(at), message: { thread_source: `t${thread}`, sender } })
}

async function unlessLost(act: Promise<void>): Promise<boolean> {
  try {
    await act
    return true
  } catch (error) {
    if (error instanceof LeaseLost) return false
    throw error
  }
}

/** Expects sound rows after the end of all work. */
function expectSound(file: string, { committed }: Crowd): void {
  const db = new DatabaseSync(file, { readOnly: true })
  const all = (sql: string) => db.prepare(sql).all()
  expect(
    all('SELECT message FROM turns WHERE ended_at IS NULL OR lease_owner IS NOT NULL OR due_at IS NOT NULL'),
  ).toEqual([])
  const totals = all("SELECT name, value FROM counters WHERE value <> 0 AND name LIKE 'messages.%' ORDER BY name")
  const counted = all(
    `SELECT 'messages.' || coalesce(w.state, 'ignored') AS name, count(*) AS value
     FROM messages m LEFT JOIN turns w ON w.message = m.seq WHERE m.kind = 'message' GROUP BY 1 ORDER BY 1`,
  )
  expect(totals).toEqual(counted)
  // Each answered message has one answer: its own, or that of the later message with which it was merged.
  const answered = all(
    `SELECT w.message, (SELECT count(*) FROM messages r WHERE r.kind = 'response' AND r.answers = coalesce(w.merged_into, w.message)) AS answers
     FROM turns w WHERE w.state = 'answered'`,
  )
  expect(answered.filter(({ answers }) => answers !== 1)).toEqual([])
  expect(all('SELECT count(*) AS value FROM deliveries')).toEqual([{ value: committed.length }])
  const strangers = all(
    `SELECT w.message FROM turns w JOIN turns l ON l.message = w.merged_into
     WHERE l.thread_id <> w.thread_id OR l.message <= w.message OR (l.task_id IS NULL) <> (w.task_id IS NULL) OR l.speaker <> w.speaker`,
  )
  expect(strangers).toEqual([])
  // A sender who deletes a message expects no answer.
  const waiting = all(
    `SELECT k.native_id FROM tasks k WHERE k.state IN ('submitted', 'working')
       AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.task_id = k.id AND m.forgotten_at IS NOT NULL)`,
  )
  expect(waiting).toEqual([])
  db.close()
}

test('in any interleaving of messages, edits, deletions and interruptions, each message gets one answer or a reason', async () => {
  const weighted = fc.constantFrom(...steps, ...(['say', 'say', 'say', 'say', 'say', 'lease', 'commit'] as const))
  const step = fc.tuple(weighted, fc.nat(10_000))
  const bursts = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 20, maxLength: 50 })
  await fc.assert(
    fc.asyncProperty(bursts, async plan => {
      const tested = await openStoreUnderTest()
      const crowd = new Crowd(tested)
      for (const burst of plan) await Promise.all(burst.map(each => crowd.take(each)))
      expect(await crowd.finish()).toBe(true)
      expectSound(tested.file, crowd)
      for (const { attempt } of crowd.committed) expect(attempt).toBeGreaterThan(0)
      const seen = crowd.committed.flatMap(({ message, merged = [] }) => [...merged, message])
      expect(new Set(seen).size, 'no message is answered in two turns').toBe(seen.length)
      await tested.store.close()
    }),
    { numRuns: drawCount({ quick: 10, long: 30 }) },
  )
}, 60_000)
