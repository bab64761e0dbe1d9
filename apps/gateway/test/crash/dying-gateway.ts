// Runs gateways that die at a given step of a turn.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MessageSummary } from '@postern/pipeline'
import { expect } from 'vitest'
import type { CrashPoint } from '../agents/failing/dying.ts'
import type { PairedGateway } from '../postgres/pair.ts'
import { eventually } from '../setup/gateway.ts'

/** The agents of a gateway that dies. `dying` may get a message before the message is durable; `careful` may not. */
export const crashingAgents = {
  dying: { use: join(import.meta.dirname, '../agents/failing/dying.ts') },
  careful: { use: join(import.meta.dirname, '../agents/failing/dying.ts'), durable: 'before_agent' },
}

export const crashPoints: readonly CrashPoint[] = [
  'before the agent answers',
  'between its answer and the flush',
  'before the commit',
]

/** Opens the files by which a test tells its agent where to die, and the agent reports its runs. */
export function openCrashFiles(directory: string) {
  const [step, runs] = [join(directory, 'step'), join(directory, 'runs')]
  return {
    dieAt: (deathStep: CrashPoint) => writeFileSync(step, deathStep),
    /** Lists the messages of all runs so far, and forgets them. */
    readAndClearRuns(): readonly string[] {
      const names = existsSync(runs) ? readFileSync(runs, 'utf8').trim().split('\n') : []
      rmSync(runs, { force: true })
      return names
    },
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
  const id = `killed ${step}`
  await killAt(gateway, files, { id, step })
  expect(await listMessages(gateway, id)).toEqual([])
  expect((await gateway.send({ id, text: 'hello' })).text).toContain('answered')
  expect((await gateway.send({ id, text: 'hello' })).text).toContain('answered')
  expect(await listMessages(gateway, id)).toMatchObject([{ state: 'answered' }])
  expect(files.readAndClearRuns()).toEqual([id, id])
}

/** Kills a gateway while its agent has a message, and checks that the message is answered without its peer. */
export async function checkMessageStored(gateway: PairedGateway, files: CrashFiles): Promise<void> {
  const id = 'killed in an agent'
  await killAt(gateway, files, { id, step: 'before the agent answers' })
  await eventually(async () => (await listMessages(gateway, id))[0]?.state === 'answered', 100_000)
  expect((await gateway.send({ id, text: 'hello' })).text).toContain('answered')
  expect(await listMessages(gateway, id)).toHaveLength(1)
  expect(files.readAndClearRuns()).toEqual([id, id])
}

async function killAt(
  gateway: PairedGateway,
  files: CrashFiles,
  { id, step }: { readonly id: string; readonly step: CrashPoint },
): Promise<void> {
  files.dieAt(step)
  await expect(gateway.send({ id, text: 'hello' })).rejects.toThrow()
  await gateway.waitForExit()
  await gateway.start()
}
