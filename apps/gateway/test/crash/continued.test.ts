import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { PairedGateway } from '../postgres/pair.ts'
import { makeGateway } from '../postgres/pair.ts'
import {
  checkAnswerStored,
  checkMessageNotStored,
  checkMessageStored,
  crashingAgents,
  openCrashFiles,
  stepsBeforeCommit,
  transactionWatch,
} from './dying-gateway.ts'

/** Starts a gateway on a new file. It has not crashed yet. */
async function startGateway(agent: keyof typeof crashingAgents) {
  const directory = mkdtempSync(join(tmpdir(), 'postern-dying-'))
  process.env.DYING_DIRECTORY = directory
  const settings = { agents: crashingAgents, default_agent: agent }
  const gateway: PairedGateway = await makeGateway({
    directory,
    name: 'gateway',
    settings,
    preload: transactionWatch,
  })
  onTestFinished(async () => {
    await gateway.kill()
    rmSync(directory, { recursive: true, force: true })
  })
  await gateway.start()
  return { gateway, files: openCrashFiles(directory) }
}

test.each(stepsBeforeCommit)(
  'a gateway that dies %s has not stored the message, and answers it once when it comes again',
  { timeout: 120_000 },
  async step => {
    const { gateway, files } = await startGateway('dying')
    await checkMessageNotStored(gateway, files, step)
  },
)

test('a gateway that dies after the commit has stored the message with its answer, which a repetition gets', {
  timeout: 120_000,
}, async () => {
  const { gateway, files } = await startGateway('dying')
  await checkAnswerStored(gateway, files)
})

test('in the hour after a crash, a gateway stores messages before agents get them', {
  timeout: 180_000,
}, async () => {
  const { gateway, files } = await startGateway('dying')
  await checkMessageNotStored(gateway, files, 'before the agent answers')
  await checkMessageStored(gateway, files)
})

test('with `before_agent`, a gateway that dies before the agent answers has stored the message', {
  timeout: 120_000,
}, async () => {
  const { gateway, files } = await startGateway('careful')
  await checkMessageStored(gateway, files)
  expect(await gateway.stop()).toBe(0)
})
