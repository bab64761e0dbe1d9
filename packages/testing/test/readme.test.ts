import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { agentContract, agentSecret } from '../src/index.ts'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const [, code = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readme) ?? []
const registered: string[] = []
const watched = (...contract: Parameters<typeof agentContract>) => {
  registered.push(contract[0])
  agentContract(...contract)
}

// The tests of the contract run here as in a file of the reader.
new Function('agentContract', 'agentSecret', code.replace(/^import .*\n/gm, ''))(watched, agentSecret)

test('the example in the README runs the contract for its agent', () => {
  expect(registered).toEqual(['an agent that greets'])
})
