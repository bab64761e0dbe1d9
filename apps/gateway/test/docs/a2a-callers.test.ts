import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StartedGateway } from '../../src/testing/index.ts'
import { startGateway } from '../../src/testing/index.ts'
import { findBlock } from './blocks.ts'
import { createDocsFolder } from './folder.ts'

const page = 'docs/guides/a2a-callers.md'
const key = 'key-of-the-tests'
const run = promisify(execFile)
const cwd = fileURLToPath(new URL('../..', import.meta.url))
const folder = createDocsFolder({ 'shop.ts': findBlock([page, '// agents/shop.ts']).code })
let gateway: StartedGateway

beforeAll(async () => {
  const settings = {
    origin: 'https://agents.example',
    agents: { shop: { use: './shop.ts' } },
    a2a: { auth: { api_keys: [{ name: 'warehouse', sha256: hash('sha256', key) }] } },
  } as const
  gateway = await startGateway({ folder, settings })
})
afterAll(() => gateway.stop())

const order = { sku: 'tea', count: 2 }
const receipt = { accepted: true, order }

test('the TypeScript client of the guide calls a dev gateway and gets data', async () => {
  const code = findBlock([page, 'JsonRpcTransportFactory']).code.replace('http://127.0.0.1:8787', gateway.url)
  const text = code.replace('console.log(answer.artifacts[0]?.parts)', 'console.log(JSON.stringify(answer.artifacts))')
  expect(text).not.toBe(code)
  const options = { cwd, env: { ...process.env, SHOP_KEY: key } }
  const { stdout } = await run(process.execPath, ['--input-type=module-typescript', '--eval', text], options)
  expect(JSON.parse(stdout)[0].parts).toMatchObject([
    { content: { value: 'Thank you.' } },
    { content: { $case: 'data', value: receipt }, filename: 'receipt.json' },
  ])
})

test('the raw request of the guide gets the response that its page shows', async () => {
  const [url = '', body = ''] = readCurl(findBlock([page, 'curl https://agents.example']).code)
  const response = await fetch(url.replace('https://agents.example', gateway.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': key },
    body,
  })
  const { task } = await response.json()
  expect(task.artifacts[0].parts[1]).toEqual(JSON.parse(findBlock([page, '"filename"']).code))
})

/** Returns the address and the body of a curl call. */
function readCurl(code: string): readonly (string | undefined)[] {
  return [/curl (\S+)/.exec(code)?.[1], /-d '([^']*)'/.exec(code)?.[1]]
}
