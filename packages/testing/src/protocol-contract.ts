// Tests how every channel handles honest, forged and malformed messages at its endpoint.
import type { ChannelName, RejectionCode } from '@postern/message'
import { formatTransportMethod, normalizedMessageSchema, plainTextOf } from '@postern/message'
import type { ChannelDescriptor, MessageRecord, Refusal, Store } from '@postern/pipeline'
import type { Fault } from '@postern/simulation/faults'
import { faults } from '@postern/simulation/faults'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ProtocolSetup } from './store-watch.ts'
import { createStoreWatch } from './store-watch.ts'

export type { ProtocolSetup }

/**
 * The outcome of a delivery. `duplicate`: answered like the first one and stored once. `unverified`: admitted, with an unproven sender. `kept`:
 * stored for the operator, and never given to the agent.
 */
type ProtocolOutcome = RejectionCode | 'unavailable' | 'duplicate' | 'unverified' | 'kept'

interface ProtocolAnswer {
  readonly accepted: boolean
  /** The HTTP status or SMTP code. */
  readonly answer: number
  /** The code in the answer, if the protocol carries one. */
  readonly code?: RejectionCode | 'unavailable' | undefined
}

export interface ProtocolDelivery {
  readonly fault?: Fault | undefined
  /** The peer's id of the message. The same id, text and fault mean an exact repetition of the message. */
  readonly id?: string | undefined
  /** The text of the message; default: the driver's own. */
  readonly text?: string | undefined
}

/** One protocol with open endpoints, a store, and a client that can send to them. */
export interface ProtocolDriver {
  readonly store: Store
  /** Delivers a message and resolves with the answer to the peer. */
  deliver(delivery?: ProtocolDelivery): Promise<ProtocolAnswer>
  /** Differences of this protocol from `defaultOutcomes`. */
  readonly expected?: Partial<Readonly<Record<Fault, ProtocolOutcome>>> | undefined
  /** Differences of this protocol's status codes from HTTP's. */
  readonly answers?: Partial<Readonly<Record<ProtocolOutcome, number>>> | undefined
  /** Lists the bearer tokens and other secrets that were used so far. No operator may ever see them. */
  secrets?(): readonly string[]
  /** Waits until all work that follows the answer is done. */
  settle?(): Promise<void>
  close(): Promise<void>
}

/** The required outcome of each fault, unless a driver has another one. */
const defaultOutcomes: Readonly<Record<Fault, ProtocolOutcome>> = {
  unsigned: 'unsigned',
  tampered: 'signature_invalid',
  forged: 'signature_invalid',
  expired: 'expired',
  replayed: 'duplicate',
  wrong_owner: 'signer_mismatch',
  oversized: 'too_large',
  deep: 'malformed',
  malformed: 'malformed',
  key_host_down: 'unavailable',
  unknown_recipient: 'no_recipient',
}

const httpAnswers: Partial<Readonly<Record<ProtocolOutcome, number>>> = {
  malformed: 400,
  unsigned: 401,
  signature_invalid: 401,
  signer_mismatch: 401,
  expired: 401,
  forbidden: 403,
  no_recipient: 404,
  too_large: 413,
  rate_limited: 429,
  unavailable: 503,
}

/** Faults of an impostor who may know a message before it arrives. A failed attempt must not use up its id. */
const impostures: readonly Fault[] = ['unsigned', 'tampered', 'forged', 'wrong_owner']

const takenOutcomes: ReadonlySet<ProtocolOutcome> = new Set(['duplicate', 'unverified', 'kept'])

/** Runs the tests that every channel must pass at its endpoint, whatever its protocol. */
export function protocolContract(
  descriptor: ChannelDescriptor,
  open: (setup: ProtocolSetup) => Promise<ProtocolDriver>,
): void {
  const { name } = descriptor
  describe(`${name} keeps the protocol contract`, () => {
    const watch = createStoreWatch()
    let driver: ProtocolDriver
    let counter = 0
    const invent = (label: string) => {
      counter += 1
      return { id: `contract-${counter}-${Date.now()}`, text: `${label} number ${counter} zebra-crossing` }
    }
    beforeAll(async () => {
      driver = await open({ watchStore: watch.watchStore })
    })
    afterAll(() => driver?.close())

    test('the store gets an honest message as a valid NormalizedMessage from a proven sender (MN-2)', async () => {
      const message = invent('An honest message')
      const observation = await observe(driver, () => driver.deliver(message))
      expect(observation.answer.accepted).toBe(true)
      expect(observation.records).toHaveLength(1)
      expect(observation.refusals).toEqual([])
      const record = requireFirst(observation.records)
      expectProvenMessage(record, descriptor)
      expect(plainTextOf(record.message.parts)).toContain(message.text)
      expect(record.duplicates).toBe(0)
    })

    test('the operator’s view of a message contains no credentials', async () => {
      const { records } = await observe(driver, () => driver.deliver(invent('A discreet message')))
      for (const secret of driver.secrets?.() ?? []) expect(JSON.stringify(records)).not.toContain(secret)
    })

    test('a repeated message gets the first answer, and the store keeps it once', async () => {
      const message = invent('A repeated message')
      const first = await observe(driver, () => driver.deliver(message))
      const second = await observe(driver, () => driver.deliver(message))
      expect(second.answer).toEqual(first.answer)
      expect(first.records).toHaveLength(1)
      expect(second.records).toEqual([])
      const record = await driver.store.findMessage(requireFirst(first.records).message.id)
      expect(record?.duplicates).toBe(1)
    })

    test('the store keeps many simultaneous copies of a message once', async () => {
      const message = invent('A hasty message')
      const observation = await observe(driver, async () => {
        const answers = await Promise.all([1, 2, 3, 4].map(() => driver.deliver(message)))
        expect(answers.map(({ accepted }) => accepted)).toEqual([true, true, true, true])
        return requireFirst(answers)
      })
      expect(observation.records).toHaveLength(1)
    })

    test('the store keeps all different messages', async () => {
      const observation = await observe(driver, async () => {
        await driver.deliver(invent('One message'))
        return driver.deliver(invent('Another message'))
      })
      expect(observation.records).toHaveLength(2)
    })

    test('no peer gets an acceptance before the message is durable', async context => {
      if (!watch.isWatching()) return context.skip('the driver does not use watchStore')
      const admissionHold = watch.holdAdmissions()
      const delivery = driver.deliver(invent('A waiting message'))
      await admissionHold.started
      const early = await Promise.race([delivery.then(() => 'answered'), pause(50).then(() => 'waiting')])
      admissionHold.release()
      expect(early).toBe('waiting')
      expect((await delivery).accepted).toBe(true)
    })

    test('the peer can repeat a message that the store could not keep and the channel did not accept', async context => {
      if (!watch.isWatching()) return context.skip('the driver does not use watchStore')
      const message = invent('An unlucky message')
      watch.failNextAdmission()
      const failedAttempt = await observe(driver, () => driver.deliver(message))
      expect(failedAttempt.answer.accepted).toBe(false)
      expect(failedAttempt.records).toEqual([])
      const secondAttempt = await observe(driver, () => driver.deliver(message))
      expect(secondAttempt.answer.accepted).toBe(true)
      expect(secondAttempt.records).toHaveLength(1)
    })

    test.each(faults)('a message with one fault gets the outcome in the table: %s', async fault => {
      const message = invent('A faulty message')
      const outcome = driver.expected?.[fault] ?? defaultOutcomes[fault]
      const observation = await observe(driver, () => driver.deliver({ ...message, fault }))
      // A refused replay does not remove the record of the first delivery.
      const expectedMessages = fault === 'replayed' ? 1 : 0
      const isTakenOutcome = takenOutcomes.has(outcome)
      expect({ fault, accepted: observation.answer.accepted }).toEqual({ fault, accepted: isTakenOutcome })
      if (isTakenOutcome) expectTaken(observation, outcome)
      else expectRefused(observation, { name, outcome, driver, storedCount: expectedMessages })
      const refusalText = JSON.stringify(observation.refusals)
      for (const secret of [message.text, ...(driver.secrets?.() ?? [])]) expect(refusalText).not.toContain(secret)
    })

    test.each(impostures)('an impostor does not use up the id of a later honest message: %s', async fault => {
      const message = invent('A message with a rival')
      const rival = await observe(driver, () => driver.deliver({ ...message, fault }))
      expect(rival.records.filter(({ message }) => message.sender.verified)).toEqual([])
      const honest = await observe(driver, () => driver.deliver(message))
      expect(honest.answer.accepted).toBe(true)
      expect(honest.records).toHaveLength(1)
      expect(requireFirst(honest.records).message.sender.verified).toBe(true)
    })
  })
}

interface Observation {
  readonly answer: ProtocolAnswer
  /** The records that are stored now and were not before. */
  readonly records: readonly MessageRecord[]
  readonly refusals: readonly Refusal[]
}

const page = { limit: 1_000 }

async function observe(driver: ProtocolDriver, sendMessage: () => Promise<ProtocolAnswer>): Promise<Observation> {
  const { store } = driver
  const messagesBefore = new Set((await store.listMessages(page)).map(({ message }) => message))
  const numbersBefore = new Set((await store.listRefusals(page)).map(({ number: refusalNumber }) => refusalNumber))
  const answer = await sendMessage()
  await driver.settle?.()
  const newMessages = (await store.listMessages(page)).filter(({ message }) => !messagesBefore.has(message))
  const records = await Promise.all(newMessages.map(({ id }) => store.findMessage(id)))
  const refusals = (await store.listRefusals(page)).filter(
    ({ number: refusalNumber }) => !numbersBefore.has(refusalNumber),
  )
  return { answer, records: records.filter(record => record !== undefined), refusals }
}

function expectProvenMessage(
  { message, proofs }: MessageRecord,
  { name, mentionRelay, authMethods, evidenceMethod }: ChannelDescriptor,
): void {
  const parsed = normalizedMessageSchema.safeParse(message)
  expect(parsed.error?.issues ?? []).toEqual([])
  const { sender, recipient, received_via, recipient_capabilities, raw } = message
  expect(received_via).toBe(name)
  expect(recipient_capabilities.mention_relay).toEqual(mentionRelay)
  expect(recipient).toMatch(/^@[^@\s]+@[^@\s]+$/)
  expect(sender).toMatchObject({ verified: true, address: expect.stringMatching(/^@[^@\s]+@[^@\s]+$/) })
  const evidence = sender.identities?.find(({ proof }) => proof.type === 'transport')
  expect(authMethods).toContain(sender.auth_method)
  const method = formatTransportMethod(evidenceMethod ?? sender.auth_method)
  const proof = { type: 'transport', verified_by: sender.auth_method }
  expect(evidence).toMatchObject({ method, audience: recipient, proof })
  expect(proofs.map(({ verdict }) => verdict)).toContain('pass')
  expect(raw).toBeTruthy()
}

function expectTaken({ records }: Observation, outcome: ProtocolOutcome): void {
  expect(records).toHaveLength(1)
  const { message, duplicates, state } = requireFirst(records)
  if (outcome === 'duplicate') {
    expect(duplicates).toBe(1)
    return
  }
  if (outcome === 'kept') expect(state).toBe('ignored')
  if (outcome === 'unverified') expect(message.sender.verified).toBe(false)
}

interface RefusalExpectation {
  readonly name: ChannelName
  readonly outcome: ProtocolOutcome
  readonly driver: ProtocolDriver
  /** The number of messages that are stored despite the refusal. */
  readonly storedCount: number
}

/**
 * Expects that nothing is stored, the right answer, and one line for the operator. An unavailable service is nobody's fault, so its line is not
 * checked.
 */
function expectRefused(
  { answer, records, refusals }: Observation,
  { name, outcome, driver, storedCount }: RefusalExpectation,
): void {
  expect(records).toHaveLength(storedCount)
  expect(answer.answer).toBe(driver.answers?.[outcome] ?? httpAnswers[outcome] ?? answer.answer)
  expect(answer.code ?? outcome).toBe(outcome)
  if (outcome === 'unavailable') return
  expect(refusals).toMatchObject([{ via: name, code: outcome, reason: expect.stringMatching(/\S/) }])
  expect(requireFirst(refusals).from).not.toBe('')
}

function requireFirst<Item>(items: readonly Item[]): Item {
  const [first] = items
  if (first === undefined) throw new Error('Expected at least one')
  return first
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
