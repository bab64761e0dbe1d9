// Creates people whose data contains a mark, and searches for traces of it.
import { hash } from 'node:crypto'
import type { Part } from '@postern/message'
import type { Answer, Blob, Intake, PersonIdentity, Turn } from '@postern/pipeline'
import { sketchAnswer, sketchIntake } from '@postern/testing'
import {
  createSessionStore,
  createTranscriptMessageStore,
  exchangeFormats,
  exportThread,
  importThread,
  type SessionPrincipal,
} from '@postern/transcript'
import type { GatewayStore } from '../src/index.ts'
import type { Dice } from './dice.ts'

/** A person whose messages, ids and names all contain their mark. */
export interface MarkedPerson {
  readonly mark: string
  readonly owner: string
  readonly chat: PersonIdentity
  readonly account: PersonIdentity
}

export function createMarked(name: string): MarkedPerson {
  const mark = `x${name}x`
  const owner = `web:${JSON.stringify(['https://id.test', mark])}`
  return {
    mark,
    owner,
    chat: { via: 'web', address: `@${mark}@web.agents.test`, subject: owner },
    account: { via: 'activitypub', address: `@${mark}@ap.test`, subject: `https://ap.test/${mark}` },
  }
}

interface LifeParts {
  readonly store: GatewayStore
  readonly dice: Dice
  readonly now: () => number
}

/** Creates random acts of people in the five formats and on the fediverse. */
export function createMarkedLife({ store, dice, now }: LifeParts) {
  const { roll, oneIn, createName, pick } = dice
  const system = { now, randomBytes: (size: number) => Uint8Array.from({ length: size }, () => roll(256)) }
  const sessions = createSessionStore({ transcript: store.transcript, records: store.records, system })
  const word = ({ mark }: MarkedPerson) => `${mark} ${createName()}`

  function writeFile(person: MarkedPerson): { readonly blobs: readonly Blob[]; readonly part: Part } {
    const bytes = new TextEncoder().encode(`a file of ${person.mark} ${roll(3)} ${'.'.repeat(oneIn(3) ? 300_000 : 10)}`)
    const digest = hash('sha256', bytes)
    const part: Part = {
      kind: 'file',
      name: word(person),
      bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest },
    }
    return { blobs: [{ digest, bytes, mime: 'text/plain' }], part }
  }

  function sketchWords(person: MarkedPerson): Pick<Intake, 'raw' | 'target' | 'blobs'> & { readonly parts: Part[] } {
    const file = oneIn(3) ? writeFile(person) : undefined
    const parts: Part[] = [{ kind: 'text', mime: 'text/plain', content: word(person) }, ...(file ? [file.part] : [])]
    const raw = { text: word(person), long: oneIn(5) ? person.mark.repeat(30_000) : '' }
    return {
      parts,
      raw: { bytes: new TextEncoder().encode(JSON.stringify(raw)), form: 'json' },
      target: { for: word(person) },
      ...(file && { blobs: file.blobs }),
    }
  }

  async function say(person: MarkedPerson, { chat, account }: MarkedPerson = person): Promise<void> {
    const isChat = oneIn(2)
    const { address, subject = '' } = isChat ? chat : account
    const { parts, ...rest } = sketchWords(person)
    const id = `id of ${word(person)}`
    const key = isChat ? `chat ${roll(3)} of ${person.mark}` : `public ${roll(2)}`
    const intake = sketchIntake(id, {
      ...rest,
      thread: { scope: isChat ? person.owner : 'public', references: [] },
      aliases: isChat ? [] : [`object of ${id}`],
      duplicateKey: `key of ${id}`,
      authorship: { author: subject, object: `object of ${id}` },
      proofs: [{ kind: 'bearer', verdict: 'pass', subject }],
      ...traceOf(person),
      ...(!isChat && boundsOf(address, subject)),
      ...(isChat && { task: { owner: person.owner, id: `run ${id}`, context: key } }),
      message: {
        thread_source: key,
        parts,
        received_via: isChat ? 'web' : 'activitypub',
        sender: { address, display_name: person.mark, auth_method: 'none', verified: false },
      },
    })
    await store.admit(intake, `c ${createName()}`)
  }

  /** Returns the budgets and quotas that count for a person, and the address to which nothing more is sent. */
  function boundsOf(address: string, subject: string): Pick<Intake, 'budgets' | 'quota' | 'effects'> {
    const hour = 3_600_000
    return {
      budgets: [{ key: `answers v echo ${address}`, turns: 10_000, withinMs: hour, flag: 'correspondent_budget' }],
      quota: { turns: 10_000, withinMs: hour, automatedReplyMs: hour },
      ...(oneIn(3) && {
        effects: [{ kind: 'relate', relation: 'suppressed', peer: subject, target: `550 no ${address}` }],
      }),
    }
  }

  /** Deletes an object that has not arrived. */
  async function takeBack({ account, mark }: MarkedPerson): Promise<void> {
    await store.withdraw('activitypub', [{ kind: 'forget', author: account.subject, object: `lost object of ${mark}` }])
  }

  /** Returns a trace with as many keys as people have. */
  function traceOf({ mark, account, owner }: MarkedPerson): Pick<Intake, 'trace' | 'proofKeys'> {
    const digest = `key ${roll(3)} of ${mark}`
    const step = {
      kind: 'bearer',
      verdict: 'pass',
      key_id: `${mark}#key`,
      key_digest: digest,
      after: 0,
      ms: 1,
    } as const
    const key = {
      digest,
      kind: 'pem',
      material: `material of ${mark}`,
      owner: oneIn(2) ? account.subject : owner,
    } as const
    return { trace: { received_at: now(), steps: [step] }, proofKeys: [key] }
  }

  /** Refuses a message that falsely claims to be from a person. */
  async function refuse(person: MarkedPerson): Promise<void> {
    const claimed_sender = pick([
      `${person.account.subject}#key`,
      `${person.mark} <${person.mark}@ap.test>`,
      person.chat.address,
    ])
    store.refuse({
      at: '2026-03-13T10:00:00.000Z',
      via: 'activitypub',
      from: '192.0.2.1',
      code: 'expired',
      reason: 'Cannot verify activity: too old',
      claimed_sender,
      peer_id: `id of ${word(person)}`,
    })
    await store.listRefusals({ limit: 1 })
  }

  /** Tries the due deliveries. Peers answer with names. */
  async function deliverOne(people: readonly MarkedPerson[]): Promise<void> {
    const [delivery] = await store.leaseDeliveries({ holder: 'worker', limit: 1, leaseMs: 60_000, rank: 'answer' })
    const person = people.find(({ mark }) => delivery?.to.includes(mark))
    if (!delivery || !person) return
    const attempt = { at: now(), ms: 3, status: 500, reply_line: `500 no ${word(person)}` }
    const failed = { error: `refused ${word(person)}`, wire: { to: word(person) }, attempt }
    await store.settle(
      delivery,
      oneIn(2)
        ? { state: 'later', dueAt: now(), reason: 'unavailable', ...failed }
        : { state: 'dead', reason: 'refused', ...failed },
    )
  }

  /** Answers a turn with the mark of the person whose message it answers. */
  async function answerOne(people: readonly MarkedPerson[]): Promise<void> {
    const [turn] = await store.leaseTurns({ holder: 'worker', limit: 1, leaseMs: 60_000 })
    if (!turn) return
    const person = people.find(({ mark }) => turn.content.sender.address.includes(mark))
    if (!person) throw new Error('nobody said that')
    const attempt = attemptOf(turn, person)
    if (oneIn(4)) await store.release(turn, { dueAt: now(), error: 'not now', attempt })
    else await store.commit(turn, { ...sketchMarkedAnswer(turn, person), attempt })
  }

  function attemptOf({ attempt, message }: Turn, person: MarkedPerson): NonNullable<Answer['attempt']> {
    const error = { name: 'Error', message: `cannot read ${word(person)}`, stack: word(person) }
    const given = { history: [message], digest: 'd' }
    return { attempt, leased_at: now(), ended_at: now(), outcome: 'failed', given, error }
  }

  function sketchMarkedAnswer(turn: Turn, person: MarkedPerson): Answer {
    const call = { kind: 'tool_call', id: word(person), name: 'look', args: { at: word(person) }, result: [1] } as const
    const answer = sketchAnswer(turn, word(person), [`inbox of ${person.mark}`], {
      ...(turn.via === 'web' && oneIn(2) && { state: { about: word(person) } }),
      rendering: { to: word(person) },
      ...(oneIn(3) && { notes: [noteOf(person)] }),
    })
    const { response } = answer
    if (!response) return answer
    const details = { trace: [{ ...call, agent: 'helper' }], chat_state: { about: word(person) } }
    return {
      ...answer,
      response: { ...response, ...(oneIn(2) && details), ...(oneIn(3) && { parts: [call, ...response.parts] }) },
    }
  }

  function noteOf(person: MarkedPerson): NonNullable<Answer['notes']>[number] {
    const body = { kind: 'task', role: 'system', scope: 'agent', content: { value: word(person) } } as const
    return { name: 'note 1', at: '2026-03-13T10:00:00.000Z', body }
  }

  async function useSessions(person: MarkedPerson): Promise<void> {
    const principal: SessionPrincipal = { owner: person.owner, owner_type: 'user', owner_key: person.mark }
    const wanted = { title: word(person), context: `${person.mark} ${roll(3)}`, metadata: { note: word(person) } }
    const { session_id } = await sessions.open(principal, wanted)
    const messages = Array.from({ length: roll(5) }, () => ({ role: 'user', content: word(person), id: word(person) }))
    await sessions.update(principal, session_id, { messages, model: word(person) })
    if (oneIn(3)) await sessions.remove(principal, session_id)
  }

  async function useStore(person: MarkedPerson): Promise<void> {
    const messageStore = createTranscriptMessageStore({ transcript: store.transcript, system, owner: person.owner })
    const location = `location ${roll(3)} of ${person.mark}`
    const rows = [
      { type: 'user_message', content: word(person) },
      { type: 'action', tool: word(person), args: { a: word(person) }, agent_key: person.mark },
      { type: 'synthesis', content: word(person), from_manager: person.mark },
    ]
    await messageStore.add(location, rows.slice(0, 1 + roll(3)))
    const thread = await store.transcript.findThread(person.owner, { transport: 'store', key: location })
    if (thread && oneIn(3)) await store.transcript.forget(thread)
  }

  async function importSwarm(person: MarkedPerson): Promise<void> {
    const thread = await store.transcript.openThread(person.owner, { transport: 'copy', key: person.mark })
    const rows = [
      { role: 'user', agentName: person.mark, content: word(person), mode: 'user', payload: { a: word(person) } },
    ]
    await importThread(thread, 'swarm', rows, { transcript: store.transcript, system })
  }

  async function upload(person: MarkedPerson): Promise<void> {
    const bytes = new TextEncoder().encode(`a file of ${person.mark} ${roll(3)} ${'.'.repeat(oneIn(3) ? 300_000 : 10)}`)
    await store.objects.putObject({
      bucket: 'b',
      path: `${word(person)}`,
      owner: person.owner,
      mime: 'text/plain',
      bytes,
    })
  }

  /** Exports a conversation as an operator does. The operator then has it among their threads. */
  async function exportSome(): Promise<void> {
    const [message] = await store.listMessages({ limit: 1 + roll(5) })
    const record = message && (await store.findMessage(`#${message.message}`))
    if (!record) return
    const thread = await store.transcript.openThread('operator', { transport: 'desk', key: String(record.thread) })
    await store.transcript.bindStore(thread, record.thread)
    for await (const _ of exportThread(thread, pick(exchangeFormats), store));
  }

  async function readHistory(person: MarkedPerson): Promise<void> {
    const key = `chat ${roll(3)} of ${person.mark}`
    const alias = { transport: 'web', key: JSON.stringify(['echo', key]) }
    const thread = await store.transcript.openThread(person.owner, alias)
    const isBound = await store.transcript.bindStore(thread, { agent: 'echo', via: 'web', scope: person.owner, key })
    await store.transcript.read(thread)
    if (!isBound) await store.transcript.forget(thread)
    else if (oneIn(4)) await store.forgetChat({ owner: person.owner, agent: 'echo', key })
  }

  return async (people: readonly MarkedPerson[]): Promise<void> => {
    const person = pick(people)
    const doings = [
      say,
      say,
      () => answerOne(people),
      () => deliverOne(people),
      refuse,
      takeBack,
      useSessions,
      useStore,
      importSwarm,
      upload,
      exportSome,
      readHistory,
    ]
    await pick(doings)(person)
  }
}
