import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { createGatewayProcess } from '../setup/gateway-process.ts'

// Every secret of the configuration is a marker. No output, answer or stored byte of the program may contain a marker.

const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))
const createMarker = (name: string) => `zq7-${name}-0123456789abcdef`
const markerPattern = /zq7-[a-z]+/g

const variables: Record<string, string> = {
  HIDDEN_OPERATOR: createMarker('operator'),
  HIDDEN_URL: `http://127.0.0.1:9/hooks/${createMarker('path')}`,
  HIDDEN_SECRET: createMarker('signing'),
  HIDDEN_PROP: createMarker('prop'),
  HIDDEN_KEY: createMarker('thrown'),
  HIDDEN_MODEL: `http://127.0.0.1:9/${createMarker('model')}/v1`,
}

const harmlessVariables: Record<string, string> = {
  HARMLESS_AGENT: 'http://127.0.0.1:9/v1/chat',
  HARMLESS_SITE: 'https://github.com/acme',
}

const failingAgent = `export default {
  name: 'Failing',
  handle(_, { log }) {
    log.warn({ given: { key: process.env.HIDDEN_KEY } }, 'about to use ' + process.env.HIDDEN_KEY)
    throw new Error('no access with ' + process.env.HIDDEN_KEY, { cause: new Error(process.env.HIDDEN_KEY) })
  },
}`

const quotingAgent = `export default {
  name: 'Quoting',
  handle({ parts }, { log }) {
    const text = parts.map(({ content }) => content).join()
    log.warn({ text }, 'asked about ' + text)
    throw new Error('no answer to ' + text)
  },
}`

const failingServer = `process.stderr.write(process.argv.slice(2).join() + process.env.TOKEN + '\\n'); process.exit(1)`

function describeConfig(folder: string): object {
  const urlWithSecret = (name: string) => `http://127.0.0.1:9/v1?api-key=${createMarker(name)}`
  return {
    dev: true,
    data: 'data',
    operator_token: { env: 'HIDDEN_OPERATOR' },
    listen: { port: 0 },
    email: {
      listen: { port: 0, protocol: 'smtp' },
      submit: { host: '127.0.0.1', port: 9, user: 'me', password: createMarker('smtp') },
    },
    log: { level: 'debug' },
    telemetry: { endpoint: urlWithSecret('endpoint'), headers: { 'x-api-key': createMarker('header') } },
    delivery: { retry_after: 0.2, give_up_after_hours: 0.0001 },
    agents: {
      failing: { use: './failing.mjs' },
      hook: { use: 'webhook', url: { env: 'HIDDEN_URL' }, secret: { file: join(folder, 'secret.txt') } },
      ui: {
        use: 'ag-ui',
        url: urlWithSecret('query'),
        api_key: createMarker('apikey'),
        forwarded_props: { tenant: { env: 'HIDDEN_PROP' } },
      },
      model: {
        use: 'openai',
        base_url: { env: 'HIDDEN_MODEL' },
        model: 'm',
        api_key: createMarker('modelkey'),
        parameters: { user: { env: 'HIDDEN_KEY' } },
      },
    },
  }
}

const publicPoint = {
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
}
const privateJwk = { kty: 'EC', crv: 'P-256', ...publicPoint, d: createMarker('jwk') }

function createFolder(config: (folder: string) => object) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-hidden-'))
  const path = join(folder, 'postern.config.json')
  mkdirSync(join(folder, 'data'))
  writeFileSync(join(folder, 'failing.mjs'), failingAgent)
  writeFileSync(join(folder, 'quoting.mjs'), quotingAgent)
  writeFileSync(join(folder, 'server.mjs'), failingServer)
  writeFileSync(join(folder, 'secret.txt'), `${createMarker('file')}\n`)
  writeFileSync(path, JSON.stringify(config(folder)))
  const testVariables = { ...variables, ...harmlessVariables }
  Object.assign(process.env, testVariables)
  onTestFinished(() => {
    for (const name of Object.keys(testVariables)) delete process.env[name]
  })
  const runPostern = async (...args: readonly string[]): Promise<string> => {
    const result = await promisify(execFile)(process.execPath, [program, ...args, '--config', path], {
      cwd: folder,
    }).catch((error: { stdout: string; stderr: string }) => error)
    return result.stdout + result.stderr
  }
  return { folder, path, runPostern }
}

/** Starts `postern dev` with this configuration, and asks its operator's API. */
async function openGateway(path: string, folder: string) {
  const gateway = createGatewayProcess(path, { command: ['dev'] })
  onTestFinished(() => gateway.kill())
  await gateway.start()
  const { url } = JSON.parse(readFileSync(join(folder, 'data', 'gateway.json'), 'utf8'))
  const headers = { authorization: `Bearer ${variables.HIDDEN_OPERATOR}`, 'content-type': 'application/json' }
  const requestRoute = (route: string, init: RequestInit = {}) =>
    fetch(`${url}/operator/api/${route}`, { ...init, headers })
  const readRoute = async (route: string, init: RequestInit = {}) => (await requestRoute(route, init)).text()
  const sendMessage = (to: string, text: string) =>
    readRoute('simulation/send', { method: 'POST', body: JSON.stringify({ via: 'a2a', to, text, timeout_seconds: 5 }) })
  return { gateway, requestRoute, readRoute, sendMessage }
}

function listFiles(folder: string): readonly string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
}

const findMarkers = (text: string) => [...new Set(text.match(markerPattern))]

test('no output of a gateway with failing agents shows a secret: settings, log, record, why, doctor or database', async () => {
  const { folder, path, runPostern } = createFolder(describeConfig)
  const { gateway, readRoute, sendMessage } = await openGateway(path, folder)
  const outputs: Record<string, string> = { print: await runPostern('config', 'print') }
  for (const agent of ['failing', 'hook', 'ui', 'model']) outputs[`send ${agent}`] = await sendMessage(agent, 'hello')
  for (const number of ['1', '3', '5', '7'])
    for (const route of ['why', 'messages']) outputs[`${route} ${number}`] = await readRoute(`${route}/%23${number}`)
  for (const route of ['settings', 'status', 'messages', 'deliveries', 'refusals', 'doctor'])
    outputs[route] = await readRoute(route)
  outputs.why = await runPostern('why', '#1')
  await gateway.stop()
  outputs.log = (await gateway.waitForExit()).output
  outputs.database = listFiles(join(folder, 'data'))
    .map(file => readFileSync(file, 'latin1'))
    .join()
  expect(outputs['messages 7']).toContain('@model@agents.test')
  expect(outputs['why 1']).toContain('no access with (set)')
  expect(outputs.log).toContain('about to use (set)')
  expect(outputs.settings).toContain('(set)')
  const foundMarkers = Object.entries(outputs).map(([name, text]) => [name, findMarkers(text)] as const)
  expect(foundMarkers.filter(([, markers]) => markers.length > 0)).toEqual([])
}, 120_000)

/** Reads a stream until it contains this text. */
async function readUntil(answer: Response, text: string): Promise<string> {
  let receivedText = ''
  const decoder = new TextDecoder()
  for await (const chunk of answer.body ?? []) {
    receivedText += decoder.decode(chunk, { stream: true })
    if (receivedText.includes(text)) break
  }
  return receivedText
}

test('refusals and events of the API show no secret that a request quotes', async () => {
  const { folder, path } = createFolder(describeConfig)
  const { requestRoute, readRoute, sendMessage } = await openGateway(path, folder)
  const events = readUntil(await requestRoute('events?kind=message'), 'about (set)')
  const sentId = await sendMessage('failing', `about ${createMarker('file')}`)
  const refusal = await readRoute(`messages?${createMarker('file')}=1`)
  expect(refusal).toContain('there is no parameter \\"(set)\\"')
  expect([sentId, refusal, await events, await readRoute('messages/%231')].flatMap(findMarkers)).toEqual([])
}, 60_000)

test('harmless text that equals a hidden value stays readable in the log, the record and the API', async () => {
  const { folder, path } = createFolder(folder => ({
    ...describeConfig(folder),
    telemetry: {
      endpoint: 'http://127.0.0.1:9/v1?format=activity&version=2026-01-01',
      headers: { accept: 'application/json', mode: 'production' },
    },
    agents: {
      quoting: { use: './quoting.mjs' },
      hook: { use: 'webhook', url: { env: 'HARMLESS_AGENT' }, secret: { file: join(folder, 'secret.txt') } },
      site: { use: 'webhook', url: { env: 'HARMLESS_SITE' }, secret: { file: join(folder, 'secret.txt') } },
      model: {
        use: 'openai',
        base_url: { env: 'HIDDEN_MODEL' },
        model: 'gpt-4o-mini',
        api_key: createMarker('modelkey'),
      },
    },
  }))
  const text =
    'https://github.com/acme/postern/issues application/json model gpt-4o-mini in production, activity of 2026-01-01 at /v1/chat'
  const { gateway, readRoute, sendMessage } = await openGateway(path, folder)
  await sendMessage('quoting', text)
  const outputs = [await readRoute('messages/%231'), await readRoute('why/%231'), await readRoute('messages')]
  const settings = await readRoute('settings')
  await gateway.stop()
  outputs.push((await gateway.waitForExit()).output)
  for (const output of outputs) expect(output).toContain(text)
  expect(outputs[1]).toContain(`no answer to ${text}`)
  for (const hidden of [...Object.values(harmlessVariables), 'production', 'format=activity'])
    expect(settings).not.toContain(`"${hidden}`)
}, 60_000)

test('a failed start shows no secret in its errors', async () => {
  const { runPostern } = createFolder(folder => ({
    ...describeConfig(folder),
    payments: { use: 'receipt', issuer: 'https://till.test', jwk: privateJwk },
    agents: {
      model: {
        ...{ use: 'openai', base_url: 'http://127.0.0.1:9/v1', model: 'm' },
        mcp: [
          {
            command: process.execPath,
            args: ['server.mjs', `--token=${createMarker('arg')}`, createMarker('word')],
            env: { TOKEN: createMarker('env') },
          },
        ],
      },
    },
  }))
  const outputs = [
    await runPostern('start'),
    await runPostern('dev'),
    await runPostern('config', 'print'),
    await runPostern('doctor'),
  ]
  expect(outputs[1]).toContain('server.mjs" does not answer')
  expect(outputs.flatMap(findMarkers)).toEqual([])
}, 60_000)
