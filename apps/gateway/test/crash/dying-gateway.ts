// Runs gateways that die at a given step of a turn.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MessageSummary } from '@postern/pipeline'
import { expect } from 'vitest'
import type { PairedGateway } from '../postgres/pair.ts'
import { eventually } from '../setup/gateway.ts'
import type { CrashPoint } from './crash-point.ts'
import { mortalMark } from './crash-point.ts'

/** The agents of a gateway that dies. `dying` may get a message before the message is durable; `careful` may not. */
export const crashingAgents = {
  dying: { use: join(import.meta.dirname, '../agents/failing/dying.ts') },
  careful: { use: join(import.meta.dirname, '../agents/failing/dying.ts'), durable: 'before_agent' },
}

/** The URL of the module that a gateway loads first, so that it dies at any step. */
export const transactionWatch = new URL('./watch-transactions.ts', import.meta.url).href

/** The steps before the transaction of a message ends. */
export const stepsBeforeCommit: readonly CrashPoint[] = [
  'before the agent gets the message',
  'before the agent answers',
  'between its answer and the flush',
  'before the commit',
]

/** Opens the files by which a test tells a gateway where to die, and the gateway reports its death and its agent's runs. */
export function openCrashFiles(directory: string) {
  const [step, death, runs] = [join(directory, 'step'), join(directory, 'died'), join(directory, 'runs')]
  const readAndRemove = (file: string) => {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    rmSync(file, { force: true })
    return text
  }
  return {
    dieAt: (deathStep: CrashPoint) => writeFileSync(step, deathStep),
    readAndClearDeath: () => readAndRemove(death),
    /** Lists the messages of all runs so far, and forgets them. */
    readAndClearRuns: (): readonly string[] => readAndRemove(runs).trim().split('\n').filter(Boolean),
  }
}

type CrashFiles = ReturnType<typeof openCrashFiles>

const listMessages = async (gateway: PairedGateway, id: string) =>
  (await gateway.ask<{ items: MessageSummary[] }>('/messages?limit=500')).items.filter(
    ({ id: messageId }) => messageId === id,
  )

/** Kills a gateway at a step, and checks that its peer loses nothing: the message is new when it comes again, and is answered once. */
export async function checkMessageNotStored(
  gateway: PairedGateway,
  files: CrashFiles,
  step: CrashPoint,
): Promise<void> {
  const id = `${mortalMark} ${step}`
  await killAt(gateway, files, { id, step })
  expect(await listMessages(gateway, id)).toEqual([])
  await expectOneAnswer(gateway, id)
  expect(files.readAndClearRuns()).toEqual(step === 'before the agent gets the message' ? [id] : [id, id])
}

/** Kills a gateway after the commit, and checks that the message has its answer, which the peer gets when it sends the message again. */
export async function checkAnswerStored(gateway: PairedGateway, files: CrashFiles): Promise<void> {
  const id = `${mortalMark} after the commit`
  await killAt(gateway, files, { id, step: 'after the commit' })
  expect(await listMessages(gateway, id)).toMatchObject([{ state: 'answered' }])
  await expectOneAnswer(gateway, id)
  expect(files.readAndClearRuns()).toEqual([id])
}

/** Kills a gateway while its agent has a message, and checks that the message is answered without its peer. */
export async function checkMessageStored(gateway: PairedGateway, files: CrashFiles): Promise<void> {
  const id = `${mortalMark} in an agent`
  await killAt(gateway, files, { id, step: 'before the agent answers' })
  await eventually(async () => (await listMessages(gateway, id))[0]?.state === 'answered', 100_000)
  await expectOneAnswer(gateway, id)
  expect(files.readAndClearRuns()).toEqual([id, id])
}

/** Sends a message twice, and expects that the gateway has it once, with its answer. */
async function expectOneAnswer(gateway: PairedGateway, id: string): Promise<void> {
  for (let sent = 0; sent < 2; sent += 1) expect((await gateway.send({ id, text: 'hello' })).text).toContain('answered')
  expect(await listMessages(gateway, id)).toMatchObject([{ state: 'answered' }])
}

async function killAt(
  gateway: PairedGateway,
  files: CrashFiles,
  { id, step }: { readonly id: string; readonly step: CrashPoint },
): Promise<void> {
  await waitForFirstPoll(gateway)
  files.readAndClearRuns()
  files.dieAt(step)
  await expect(gateway.send({ id, text: 'hello' })).rejects.toThrow()
  await gateway.waitForExit()
  expect(files.readAndClearDeath()).toBe(step)
  await gateway.start()
}

/**
 * Waits until the worker has ended its first poll. That poll may take all slots, so a message that comes before its end is stored before an agent
 * gets it. An answer proves the end of that poll, because either the poll found its message, or the message came later.
 */
async function waitForFirstPoll(gateway: PairedGateway): Promise<void> {
  expect((await gateway.send({ id: 'first', text: 'hello' })).text).toContain('answered')
}
