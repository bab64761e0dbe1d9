import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApiOutput } from '@postern/operator/commands'
import { printCatalogue, sendSimulated } from '@postern/operator/views'
import type { MessageRecord } from '@postern/pipeline'
import type { CatalogueEntry } from '@postern/simulation'
import { simulationCatalogue } from '@postern/simulation/catalogue'
import { isLongRun } from '@postern/testing/scale'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { resolveChannelAlias } from '../../src/channels.ts'
import type { ConfigFile } from '../../src/config/read-config.ts'
import { readConfigFile } from '../../src/config/read-config.ts'
import { createLog } from '../../src/observe/log.ts'
import { openOperatorClient } from '../../src/running/operator-client.ts'
import type { SimulatedGateway } from '../../src/running/run.ts'
import { openDev } from '../../src/running/run.ts'

let devGateway: SimulatedGateway
let url = ''
let file: ConfigFile

beforeAll(async () => {
  const workingDir = mkdtempSync(join(tmpdir(), 'postern-catalogue-'))
  const environment = {
    POSTERN_LISTEN_PORT: '0',
    POSTERN_EMAIL_LISTEN_PORT: '0',
    POSTERN_DATA: join(workingDir, 'data'),
  }
  file = await readConfigFile({ environment, workingDir, settings: {} })
  devGateway = await openDev(file, { log: createLog({ level: 'silent', readable: false }) })
  url = devGateway.listening[0]?.description ?? ''
})
afterAll(() => devGateway.stop())

interface SendResult {
  readonly id: string
  readonly status: string
  readonly refusal?: { readonly answer: number; readonly text: string }
  readonly expected: CatalogueEntry['expected']
}

async function requestApi<Answer>(path: string, body?: object): Promise<{ status: number; json: Answer }> {
  const headers = { authorization: `Bearer ${devGateway.gateway.operatorToken}` }
  const init = { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) }
  const response = await fetch(`${url}/operator/api${path}`, init)
  return { status: response.status, json: (await response.json()) as Answer }
}

const sendEntry = async (entry: Partial<CatalogueEntry>, text = 'hello there') => {
  const { expected, ...request } = entry
  return (await requestApi<SendResult>('/simulation/send', { to: 'echo', text, ...request })).json
}

/**
 * Matches each refusal code in the form of the peer's protocol: a member of the problem document, the reason of a JSON-RPC error, or the
 * text of an SMTP reply.
 */
const refusalPatterns: Readonly<Record<string, RegExp>> = {
  unsigned: /"code":"unsigned"|credentials are missing/,
  signature_invalid: /"code":"signature_invalid"|Cannot verify token|is not a signed JWT/,
  signer_mismatch: /"code":"signer_mismatch"/,
  expired: /"code":"expired"|it is expired/,
  too_large: /"code":"too_large"|REQUEST_TOO_LARGE|^552 5\.3\.4/,
  malformed: /"code":"malformed"|INVALID_PARAMS|PARSE_ERROR|^554 5\.6\.0/,
  no_recipient: /"code":"no_recipient"|NOT_FOUND|^550 5\.1\.1/,
  run_repeated: /"code":"run_repeated"/,
  forbidden: /^550 5\.7\.1/,
}

async function checkEntry({ expected, ...entry }: CatalogueEntry): Promise<void> {
  const sendResult = await sendEntry(entry)
  expect(sendResult.expected).toEqual(expected)
  switch (expected.outcome) {
    case 'answered':
      return expect(sendResult).toMatchObject({ status: expect.stringMatching(/^(answered|completed)$/) })
    case 'kept': {
      expect(sendResult.status).toBe('no_reply')
      const { json } = await requestApi<MessageRecord>(`/messages/${encodeURIComponent(sendResult.id)}`)
      return expect(json).toMatchObject({ state: 'ignored', flags: expect.arrayContaining([expected.flag]) })
    }
    case 'later':
      return expect(sendResult).toMatchObject({ status: 'refused', refusal: { answer: expected.answer } })
    case 'refused':
      expect(sendResult).toMatchObject({ status: 'refused', refusal: { answer: expected.answer } })
      return expect(sendResult.refusal?.text).toMatch(refusalPatterns[expected.code] ?? /^no such code$/)
  }
}

/** Selects the entries for `npm test`: one for each outcome of a sender, and one for each fault and visibility of a channel. */
function selectDistinctEntries(entries: readonly CatalogueEntry[]): readonly CatalogueEntry[] {
  if (isLongRun) return entries
  const seenKeys = new Set<string>()
  return entries.filter(({ via, from, visibility, fault, expected }) => {
    const keys = [
      [from, expected.outcome],
      [via, visibility, fault, expected],
    ].map(key => JSON.stringify(key))
    const isNew = keys.some(key => !seenKeys.has(key))
    for (const key of keys) seenKeys.add(key)
    return isNew
  })
}

const selectedEntries = selectDistinctEntries(simulationCatalogue.entries)

const formatEntryName = ({ via, from, visibility, fault }: CatalogueEntry) =>
  [via, from, visibility ?? '', fault ?? 'no fault'].filter(Boolean).join(', ')

describe('the catalogue of messages for a gateway in dev mode', () => {
  test('is the same in the API as in the package', async () => {
    expect((await requestApi('/simulation')).json).toEqual(JSON.parse(JSON.stringify(simulationCatalogue)))
  })

  test.each(selectedEntries.map(entry => [formatEntryName(entry), entry] as const))(
    'predicts the outcome: %s',
    (_, entry) => checkEntry(entry),
  )

  test('has an outcome for every fault, and every actor and mailbox domain of the simulation', () => {
    const { personas, entries, faults } = simulationCatalogue
    expect(new Set(entries.map(({ fault }) => fault))).toEqual(
      new Set([undefined, ...faults.map(({ fault }) => fault)]),
    )
    const actors = personas.flatMap(({ via, from }) => (via === 'activitypub' ? [from] : []))
    expect(new Set(actors)).toEqual(new Set(devGateway.simulation.fediverse.actors.keys()))
  })
})

describe('the simulation refuses an unknown request with the list of known ones', () => {
  test.each([
    [{ from: 'nobody@mastodon.test' }, /nobody is called "nobody@mastodon.test" there; there are alice@mastodon.test/],
    [{ via: 'email', visibility: 'direct' }, /"email" has no visibility to choose, not "direct"/],
    [{ fault: 'alg_none' }, /alice@mastodon.test by "activitypub" has as fault unsigned, .*, not "alg_none"/],
    [{ from: 'mallory@evil.test', fault: 'forged' }, /not "forged"/],
    [{ fault: 'unheard_of' }, /"fault" must be one of unsigned/],
    [{ visibility: 'secret' }, /"visibility" must be one of public/],
    [{ colour: 'red' }, /there is no member "colour"; use via, to, text, files, from/],
    [{ via: 'pigeon' }, /"via" must be one of activitypub, a2a, email, web/],
  ])('%j', async (members, detail) => {
    const request = { via: 'activitypub', to: 'echo', text: 'hello', ...members }
    const { status, json } = await requestApi<{ detail: string }>('/simulation/send', request)
    expect({ status, detail: json.detail }).toEqual({ status: 400, detail: expect.stringMatching(detail) })
  })

  test('a mailbox of any name at a simulated domain can write, and a token can have any subject', async () => {
    expect(await sendEntry({ via: 'email', from: 'carla@quarantine.test' })).toMatchObject({ status: 'answered' })
    expect(await sendEntry({ via: 'a2a', from: 'somebody' })).toMatchObject({ status: 'completed' })
  })
})

describe('postern send', () => {
  async function runCommand(command: (output: ApiOutput) => unknown) {
    const lines: string[] = []
    process.exitCode = undefined
    await command({ openClient: () => openOperatorClient(file), json: false, print: text => lines.push(text) })
    const { exitCode } = process
    process.exitCode = undefined
    return { text: lines.join('\n'), exitCode }
  }
  const runSend = (request: Parameters<typeof sendSimulated>[1]) =>
    runCommand(output => sendSimulated(output, request, resolveChannelAlias))

  test('exits with 0 if the gateway refuses a faulty message as the catalogue predicts, and prints the answer', async () => {
    const request = { via: 'activitypub', to: 'echo', text: 'hello', from: 'bob@snac.test', fault: 'unsigned' }
    const { text, exitCode } = await runSend(request)
    expect(text).toMatch(/\nanswer {4}401 .*there is no Signature header/)
    expect(text).not.toContain('expected')
    expect(exitCode).toBeUndefined()
  })

  test('exits with 1 and names the expected outcome when a message ends differently', async () => {
    const { text, exitCode } = await runSend({ via: 'email', to: 'nobody', text: 'hello' })
    expect(text).toMatch(/answer {4}550 .*\nexpected {2}answered$/)
    expect(exitCode).toBe(1)
  })

  test('continues as the same persona with the same visibility', async () => {
    const request = { via: 'activitypub', to: 'echo', text: 'hello', from: 'bob@rfc9421.test', visibility: 'direct' }
    const { text } = await runSend(request)
    expect(text).toContain('send --via activitypub --to echo --from bob@rfc9421.test --visibility direct --thread')
  })

  test('lists the catalogue with --list, or the named section', async () => {
    const list = (filters: Parameters<typeof printCatalogue>[1]) =>
      runCommand(output => printCatalogue(output, filters, resolveChannelAlias))
    const { text } = await list({ via: 'email', fault: 'forged' })
    expect(text).toMatch(/email +bob@quarantine\.test +forged +kept without an answer \(dmarc_quarantine\)/)
    expect(text).not.toMatch(/activitypub|unsigned/)
    expect((await list({})).text.split('\n').length).toBeGreaterThan(simulationCatalogue.entries.length)
  })
})
