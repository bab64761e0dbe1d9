import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { AgentContext, AgentModule, NormalizedMessage } from '../src/index.ts'
import { defineAgent, defineTool } from '../src/index.ts'

/** Runs the statements of a module with these names in place of its imports; gives its `agent`. */
function runExample(code: string): AgentModule {
  const body = `${code.replace(/^import .*\n/gm, '')}\nreturn agent`
  return new Function('defineAgent', 'defineTool', body)(defineAgent, defineTool)
}

test('the example in the README answers a message', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const [, code = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readme) ?? []
  const agent = runExample(code)
  const message = { parts: [{ kind: 'text', mime: 'text/plain', content: 'Sunday' }] } as unknown as NormalizedMessage
  expect(agent.handle(message, {} as AgentContext)).toBe('On Sunday: closed')
})
