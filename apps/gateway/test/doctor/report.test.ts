import { isConfigFault } from '@postern/message'
import type { DoctorFinding, DoctorReport } from '@postern/operator'
import { checkGroups } from '@postern/operator'
import { CommandError } from '@postern/operator/commands'
import { groupOf, runChecks } from '@postern/operator/doctor'
import { formatFindings, printDoctor } from '@postern/operator/views'
import { afterAll, expect, test, vi } from 'vitest'
import { examineFile } from './cases/configuration.ts'
import { openDoctorBench } from './setup/bench.ts'
import { allChecks } from './setup/case.ts'
import { closeSharedGateway, describeOpened, openShared } from './setup/shared-gateway.ts'

afterAll(closeSharedGateway)

const finding = { id: 'mail.spf', group: 'mail', subject: 'a.test', verdict: 'failure', ms: 1 } as const
const report = (findings: readonly DoctorFinding[]): DoctorReport => ({
  checked_at: '2030-01-01T00:00:00.000Z',
  ms: 1234,
  gateway: 'running',
  counts: { ok: 0, warning: 0, failure: findings.length, skipped: 0 },
  findings,
})
const plain = { columns: 80, hasColour: false }

test('each finding has its id, group, subject, verdict and message in the operator API, and a fault has its fix', async () => {
  const gateway = await openShared()
  const { findings, counts, ...otherMembers } = await gateway.requestOperator<DoctorReport>('/doctor')
  expect(otherMembers).toMatchObject({ gateway: 'running', checked_at: expect.stringMatching(/^\d{4}-.*Z$/) })
  expect(new Set(findings.map(({ group }) => group))).toEqual(new Set(checkGroups))
  for (const { id, group, verdict, message, fix } of findings) {
    expect(id.startsWith(`${group}.`)).toBe(true)
    expect(message).toMatch(/\S/)
    if (verdict === 'failure' || verdict === 'warning') expect(fix).toMatch(/\S/)
  }
  expect(Object.values(counts).reduce((sum, count) => sum + count)).toBe(findings.length)
})

test('the checks send no message to an agent or a peer', async () => {
  const gateway = await openShared()
  const { simulation } = gateway
  const count = () => [simulation.fediverse.received.length, simulation.mail.received.length]
  const countBefore = count()
  await gateway.requestOperator<DoctorReport>('/doctor')
  expect(await gateway.messages()).toEqual([])
  expect(await gateway.deliveries()).toEqual([])
  expect(count()).toEqual(countBefore)
})

test('doctor runs only the named groups, and refuses an unknown group with a list of all', async () => {
  const gateway = await openShared()
  const { findings } = await gateway.requestOperator<DoctorReport>('/doctor?only=tls,work')
  expect(new Set(findings.map(({ group }) => group))).toEqual(new Set(['tls', 'work']))
  await expect(gateway.requestOperator('/doctor?only=nothing')).rejects.toThrow('the groups are machine, configuration')
  await expect(gateway.requestOperator('/doctor?group=tls')).rejects.toThrow('400')
  const refusal = await fetch(`${gateway.url()}/operator/api/doctor`)
  expect(refusal.status).toBe(401)
})

test('without a gateway doctor skips the checks that need one with a reason, and runs the others', async () => {
  const { gateway, findings } = await runChecks(openDoctorBench({ settings: { store: 'sqlite' } }), [
    'machine',
    'network',
    'work',
  ])
  expect(gateway).toBe('unopened')
  const findingsOf = (id: string) => findings.filter(finding => finding.id === id)
  expect(findingsOf('work.dead_letters')).toMatchObject([
    { verdict: 'skipped', message: expect.stringContaining('gateway.opens') },
  ])
  expect(findingsOf('network.origin')).toMatchObject([{ verdict: 'skipped', message: 'no gateway is running' }])
  expect(findingsOf('machine.node')).toMatchObject([{ verdict: 'ok' }])
})

test('the report names an unreachable public address only once', async () => {
  const deps = openDoctorBench({ deps: { gateway: await describeOpened(), isRunning: true } })
  const { findings } = await runChecks(deps, ['network', 'discovery', 'channels'])
  const relevantFindings = findings.filter(
    ({ verdict, message }) => verdict === 'failure' && message.includes('https://agents.test'),
  )
  expect(relevantFindings.map(({ id }) => id)).toEqual(['network.origin'])
  expect(findings.filter(({ message }) => message.endsWith('see network.origin')).map(({ id }) => id)).toEqual(
    expect.arrayContaining(['network.same_gateway', 'discovery.webfinger', 'channels.inbox']),
  )
})

test('with an unreadable configuration doctor still checks the machine and names each error once', async () => {
  const faults = await examineFile('{ "origin": "x", "agnets": {} }', 'configuration.valid')
  expect(faults.map(({ subject }) => subject).toSorted()).toEqual(['agnets', 'origin'])
  const [skipped] = await examineFile('{ "origin": "x" }', 'configuration.safe')
  expect(skipped).toMatchObject({
    verdict: 'skipped',
    message: 'the configuration has faults; see configuration.valid',
  })
  expect(isConfigFault(new Error('something else'))).toBe(false)
})

test('a check without an answer times out, and the report still has the others', async () => {
  const pendingPromise = new Promise<never>(() => undefined)
  const deps = openDoctorBench({ network: { resolveDns: () => pendingPromise } })
  // Each check sets its timer before any of them runs. Fake timers would also fire those of everything else in the process.
  const timers = vi.spyOn(globalThis, 'setTimeout')
  const running = runChecks(deps, ['network'])
  const checks = allChecks.filter(check => groupOf(check) === 'network')
  expect(timers.mock.calls.map(([, ms]) => ms)).toEqual(checks.map(({ timeoutMs = 10_000 }) => timeoutMs))
  const otherTimers = timers.mock.calls.filter((_, index) => checks[index]?.id !== 'network.plain_http')
  timers.mockRestore()
  for (const [late] of otherTimers) late()
  const { findings } = await running
  expect(findings.filter(({ id }) => id === 'network.dns')).toMatchObject([
    { verdict: 'failure', message: 'the check got no answer within 10 s', fix: expect.stringContaining('A record') },
  ])
  expect(findings.filter(({ id }) => id === 'network.plain_http')).toMatchObject([{ verdict: 'ok' }])
})

test('the command reports an unknown group in one line', async () => {
  const openClient = async () => expect.fail('nothing is asked')
  const screen = { ...plain, openClient, json: false, print() {}, printStyled() {} }
  const printing = printDoctor(
    screen,
    { only: 'tls,nothing' },
    { examineUnopened: openClient, describeFile: async () => ({}) },
  )
  await expect(printing).rejects.toThrow(CommandError)
  await expect(printing).rejects.toThrow('Cannot check "nothing": the groups are machine, configuration')
})

test('the command prints complete lines of at most 80 columns, with the fix below its finding', () => {
  const message = `the SPF record of a.test ${'says much and '.repeat(9)}ends`
  const text = formatFindings(report([{ ...finding, message, fix: 'Publish one TXT record.' }]), plain)
  const lines = text.split('\n')
  expect(lines[0]).toBe('mail')
  expect(lines[1]).toMatch(/^ {2}✗ spf: the SPF record of a\.test/)
  expect(lines).toContain('    → Publish one TXT record.')
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80)
  expect(lines.at(-1)).toBe('1 failed, 0 warnings, 0 ok, 0 skipped, in 1.2 s. The gateway is running.')
})

test('the report lists skipped checks with the same reason in one line', () => {
  const skipped = { ...finding, verdict: 'skipped', subject: '', message: 'dev mode' } as const
  const text = formatFindings(report([skipped, { ...skipped, id: 'mail.mx' }, { ...skipped, id: 'mail.ptr' }]), plain)
  expect(text.split('\n')[1]).toBe('  – spf, mx, ptr: dev mode')
})

test('the command uses colours only on terminals, and escapes control characters of a peer', () => {
  const hostile = { ...finding, message: 'a\u001b[2Jb', fix: 'c\u202ed' }
  const controlCode = '\u001b'
  expect(formatFindings(report([hostile]), plain)).not.toContain(controlCode)
  const coloured = formatFindings(report([hostile]), { columns: 80, hasColour: true })
  expect(coloured).toContain(`${controlCode}[31m✗${controlCode}[0m`)
  expect(coloured).toContain('a\\u{1b}[2Jb')
  expect(coloured).toContain('c\\u{202e}d')
})

test.each([
  ['failure', 1],
  ['warning', undefined],
] as const)('a %s ends with exit code %s', async (verdict, exitCode) => {
  const pastReport = { ...report([{ ...finding, verdict, message: 'x', fix: 'y' }]) }
  const counts = { ok: 0, warning: 0, failure: 0, skipped: 0, [verdict]: 1 }
  const openClient = async () =>
    ({ call: async () => ({ ...pastReport, counts }), close: async () => undefined }) as never
  const examineUnopened = async () => expect.fail('there is a gateway')
  vi.stubGlobal('process', Object.create(process, { exitCode: { value: undefined, writable: true } }))
  try {
    const lines: string[] = []
    const collectLine = (text: string) => void lines.push(text)
    const screen = { ...plain, openClient, json: false, print: collectLine, printStyled: collectLine }
    await printDoctor(screen, {}, { examineUnopened, describeFile: async () => ({}) })
    expect(process.exitCode).toBe(exitCode)
    expect(lines).toHaveLength(1)
  } finally {
    vi.unstubAllGlobals()
  }
})
