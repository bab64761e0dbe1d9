import { execFileSync } from 'node:child_process'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openTestAgent } from '../../test/gateway.ts'
import { everythingCommand, everythingServerPath, startEverythingServer } from '../../test/mcp-server.ts'
import { openModelAgent, textOfAnswer } from '../../test/model-agent.ts'
import type { Complete } from '../../test/model-server.ts'
import { replyWith, respondWithToolCall } from '../../test/model-server.ts'

/** Calls a tool once, and answers with the result that it got. */
const callOnce =
  (name: string, args: unknown): Complete =>
  ({ body }) => {
    const last = body.messages.at(-1)
    return last?.role === 'tool' ? replyWith(`told: ${last.content}`) : respondWithToolCall(name, args)
  }

async function openHttp() {
  const server = await startEverythingServer()
  onTestFinished(server.close)
  return server
}

const askOnce = async (mcp: readonly object[], name: string, args: unknown, overrides: object = {}) => {
  const agent = await openModelAgent(callOnce(name, args), { config: { mcp, ...overrides } })
  const { answer } = await agent.ask()
  return { ...agent, answer, text: textOfAnswer(answer) }
}

describe('a tool of an MCP server', () => {
  test('runs through a program’s standard input and output', async () => {
    const { text, server } = await askOnce([everythingCommand], 'get-sum', { a: 2, b: 3 })
    expect(text).toContain('told: The sum of 2 and 3 is 5.')
    const tools = server.requests[0]?.body.tools as readonly { readonly function: { readonly name: string } }[]
    expect(tools.map(tool => tool.function.name)).toEqual(expect.arrayContaining(['echo', 'get-sum', 'get-env']))
  })

  test('runs over Streamable HTTP, and returns structured content', async () => {
    const { url } = await openHttp()
    const { text } = await askOnce([{ url, api_key: 'token' }], 'get-structured-content', { location: 'Chicago' })
    expect(JSON.parse(text.replace(/^.*told: /s, ''))).toMatchObject({ temperature: expect.any(Number) })
  })

  test('of a program sees only the environment that its configuration gives', async () => {
    process.env.SECRET_OF_THE_GATEWAY = 'hunter2'
    onTestFinished(() => void delete process.env.SECRET_OF_THE_GATEWAY)
    const { text } = await askOnce([{ ...everythingCommand, env: { GIVEN: 'yes' } }], 'get-env', {})
    expect(text).toContain('"GIVEN": "yes"')
    expect(text).not.toContain('hunter2')
  })

  test('checks its arguments before the call, and the model learns of a refusal', async () => {
    expect((await askOnce([everythingCommand], 'echo', {})).text).toMatch(/message: Invalid input/)
    expect((await askOnce([everythingCommand], 'nothing', {})).text).toContain('There is no such tool.')
  })

  test('hides invisible text from the model, and the call says so', async () => {
    const { answer, text } = await askOnce([everythingCommand], 'echo', { message: 'hi\u{e0050}\u{e0041}\u200b there' })
    expect(text).toContain('told: Echo: hi there')
    expect(answer?.parts?.[0]).toMatchObject({ result: 'Echo: hi there', flags: ['invisible_characters'] })
  })

  test('waits for consent under the policy preview, and stays hidden if it is forbidden', async () => {
    const policies = { tool_policies: { 'get-sum': 'preview', 'get-env': 'forbidden' } }
    const { answer, server } = await askOnce([everythingCommand], 'get-sum', { a: 2, b: 3 }, policies)
    expect(answer?.status).toBe('input_required')
    expect(JSON.stringify(answer)).not.toContain('The sum of')
    expect(server.requests).toHaveLength(1)
    expect(JSON.stringify(server.requests[0]?.body.tools)).not.toContain('get-env')
  })

  test('may have a prefix, and the configuration may allow only some', async () => {
    const mcp = [
      { ...everythingCommand, only: ['echo'] },
      { ...everythingCommand, only: ['echo', 'get-sum'], prefix: 'two.'.replace('.', '_') },
    ]
    const { text, server } = await askOnce(mcp, 'two_echo', { message: 'hi' })
    expect(text).toContain('told: Echo: hi')
    const tools = server.requests[0]?.body.tools as readonly { readonly function: { readonly name: string } }[]
    expect(tools.map(tool => tool.function.name)).toEqual(['echo', 'two_echo', 'two_get-sum'])
  })

  test('works again after a restart of its server', async () => {
    const server = await openHttp()
    const agent = await openModelAgent(callOnce('get-sum', { a: 1, b: 1 }), { config: { mcp: [{ url: server.url }] } })
    expect(textOfAnswer((await agent.ask()).answer)).toContain('is 2.')
    await server.close()
    expect(textOfAnswer((await agent.ask()).answer)).toContain('connection failed')
    const again = await startEverythingServer(server.port)
    onTestFinished(again.close)
    expect(textOfAnswer((await agent.ask()).answer)).toContain('is 2.')
  })

  test('ends with the turn if it takes too long', async () => {
    const leaving = new AbortController()
    const script: Complete = request => {
      setTimeout(() => leaving.abort(new Error('the turn is over')), 200)
      return callOnce('trigger-long-running-operation', { duration: 60, steps: 1 })(request, 0)
    }
    const agent = await openModelAgent(script, { config: { mcp: [everythingCommand] } })
    await expect(agent.ask('hello', { signal: leaving.signal })).rejects.toThrow('the turn is over')
  })
})

/** Writes a program that lists this many tools. */
const listing = (count: number) => ({
  command: process.execPath,
  args: [
    '--eval',
    `let text = ''
    const tools = Array.from({ length: ${count} }, (_, at) => ({ name: 'tool-' + at, inputSchema: { type: 'object' } }))
    const info = { capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
    process.stdin.on('data', chunk => {
      const lines = (text + chunk).split('\\n')
      text = lines.pop()
      for (const { id, method, params } of lines.filter(Boolean).map(line => JSON.parse(line))) {
        const result = method === 'initialize' ? { protocolVersion: params.protocolVersion, ...info } : { tools }
        if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
      }
    })`,
  ],
})

test('a server may list 200 tools', async () => {
  const { server, ask } = await openModelAgent(() => replyWith('x'), { config: { mcp: [listing(200)] } })
  await ask()
  expect(server.requests[0]?.body.tools).toHaveLength(200)
})

describe('the gateway does not start', () => {
  const open = (mcp: readonly object[], overrides: object = {}) =>
    openModelAgent(() => replyWith('x'), { config: { mcp, ...overrides } })

  test.each([
    [['-e', '', '--pass', 'sunshineprincess'], 'node" does not'],
    [['--pass=sunshineprincess'], 'node" does not'],
    [['-y', './no-such-package', 'sunshineprincess'], 'node ./no-such-package" does not'],
  ])('with a program that fails with %j, and the error names no option', async (args, name) => {
    const error = await open([{ command: process.execPath, args }]).catch(error => error)
    expect(error.message).toContain(name)
    expect(error.message).not.toContain('sunshineprincess')
  })

  test.each<[what: string, mcp: readonly object[], message: RegExp]>([
    [
      'a program that is not there',
      [{ command: './no-such-program' }],
      /mcp\.0: the MCP server ".\/no-such-program" does not answer/,
    ],
    ['201 tools of one server', [listing(201)], /mcp\.0: the MCP server/],
    ['a program that ends', [{ command: process.execPath, args: ['-e', ''] }], /does not answer/],
    [
      'nobody at the address',
      [{ url: 'http://127.0.0.1:9/mcp' }],
      /mcp\.0: the MCP server "http:\/\/127\.0\.0\.1:9\/mcp" does not answer/,
    ],
    [
      'a tool that the server has not',
      [{ ...everythingCommand, only: ['fly'] }],
      /mcp\.0\.only: the server has no tool "fly"/,
    ],
    ['two tools of one name', [everythingCommand, everythingCommand], /mcp\.1: there are two tools "echo"/],
    ['a command and a url', [{ ...everythingCommand, url: 'http://x.test/' }], /mcp/],
    ['an address with a password', [{ url: 'http://a:b@x.test/' }], /mcp/],
  ])('with %s', async (_what, mcp, message) => {
    await expect(open(mcp)).rejects.toThrow(message)
  })

  test('with a swarm that has a member without its server', async () => {
    const model = { base_url: 'http://127.0.0.1:9/v1', model: 'x' }
    const members = {
      a: { prompt: 'x', mcp: [everythingCommand] },
      b: { prompt: 'y', mcp: [{ command: './no-such' }] },
    }
    const opened = openTestAgent({ use: 'swarm', default_agent: 'a', model, members })
    await expect(opened).rejects.toThrow('agents.subject.members.b.mcp.0: the MCP server "./no-such" does not answer')
  })

  test('with a policy for an unknown tool', async () => {
    await expect(open([everythingCommand], { tool_policies: { fly: 'preview' } })).rejects.toThrow(
      'there is no such tool',
    )
  })
})

test('the programs of servers end with the gateway', async () => {
  const agent = await openModelAgent(callOnce('get-env', {}), { config: { mcp: [everythingCommand] } })
  await agent.ask()
  await agent.close()
  const running = execFileSync('ps', ['-eo', 'ppid,args'], { encoding: 'utf8' })
  const ownProcesses = running
    .split('\n')
    .filter(line => line.includes(everythingServerPath) && line.trim().startsWith(`${process.pid} `))
  expect(ownProcesses).toEqual([])
})
