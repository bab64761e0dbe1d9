// Lists installations for the doctor's checks of turns and deliveries.
import { onTestFinished } from 'vitest'
import { eventually, openTestGateway } from '../../setup/gateway.ts'
import { openDoctorBench } from '../setup/bench.ts'
import type { Cases } from '../setup/case.ts'
import { examine } from '../setup/case.ts'
import { describeGateway, describeOpened } from '../setup/shared-gateway.ts'

/** Opens a gateway whose answer by mail was refused with this code, and waits until the expected state is reached. */
async function openRefused(code: number) {
  const test = await openTestGateway()
  onTestFinished(() => test.close())
  const { mail } = test.simulation
  mail.refuse({ code, message: code === 550 ? '5.1.1 no such user' : '4.2.0 later', at: 'rcpt' })
  await mail.deliver({ to: ['echo@agents.test'], text: 'hello' })
  await eventually(async () =>
    (await test.deliveries()).some(({ state }) => state === (code === 550 ? 'dead' : 'later')),
  )
  return describeGateway(test.gateway(), 1)
}

const examineAfter = async (id: string, code: number, laterMs = 0) =>
  examine(
    id,
    openDoctorBench({ deps: { gateway: await openRefused(code), isRunning: true, now: () => Date.now() + laterMs } }),
  )

const examineIdle = async (id: string) =>
  examine(id, openDoctorBench({ deps: { gateway: await describeOpened(), isRunning: true } }))

/** Examines a gateway that has just found that a host does not answer. */
async function examineSilentHost() {
  const test = await openTestGateway(() => ({ delivery: { retry_after: 0.05 } }))
  onTestFinished(() => test.close())
  const { fediverse } = test.simulation
  const endOutage = fediverse.disturb('mastodon.test', { path: /inbox/, answer: { status: 503 } })
  await fediverse.deliver({ to: '@echo@agents.test', text: 'hello' })
  const report = await eventually(async () => {
    const { findings } = await test.requestOperator<{ findings: { id: string; verdict: string }[] }>(
      '/doctor?only=work',
    )
    const hostFindings = findings.filter(({ id }) => id === 'work.hosts')
    return hostFindings.some(({ verdict }) => verdict === 'warning') && hostFindings
  })
  endOutage()
  return report as unknown as Awaited<ReturnType<typeof examine>>
}

export const workCases: Cases = {
  'work.dead_letters': {
    failingCase: { runCheck: () => examineAfter('work.dead_letters', 550), expectedDetail: 'one dead letter' },
    passingCase: { runCheck: () => examineIdle('work.dead_letters'), expectedDetail: 'no dead letters' },
  },
  'work.overdue': {
    failingCase: {
      runCheck: () => examineAfter('work.overdue', 450, 3_600_000),
      expectedDetail: /waits for \d+ s, and no worker has taken/,
    },
    passingCase: { runCheck: () => examineIdle('work.overdue'), expectedDetail: 'workers take work as it comes' },
  },
  'work.hosts': {
    failingCase: { runCheck: examineSilentHost, expectedDetail: 'sends nothing to' },
    passingCase: { runCheck: () => examineIdle('work.hosts'), expectedDetail: 'answers' },
  },
  'work.suppressions': {
    failingCase: {
      runCheck: () => examineAfter('work.suppressions', 550),
      expectedDetail: 'sends nothing to 1 address',
    },
    passingCase: { runCheck: () => examineIdle('work.suppressions'), expectedDetail: 'no address is suppressed' },
  },
}
