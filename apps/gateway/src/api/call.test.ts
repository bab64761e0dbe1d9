import { expect, test } from 'vitest'
import { whyOperation } from '../commands/why/route.ts'
import { formatOperationPath } from './call.ts'

const explain = (id: string) => formatOperationPath(whyOperation, { parameters: { id } })

test.each([
  ['', 'Cannot explain: id is empty'],
  ['.', 'Cannot explain: id is "."'],
  ['..', 'Cannot explain: id is ".."'],
])('the command refuses an id "%s", which is another path, before it sends a request', (id, sentence) => {
  expect(() => explain(id)).toThrow(sentence)
})

test.each([
  ['#3', '/operator/api/why/%233'],
  ['https://a.test/1?x=2', '/operator/api/why/https%3A%2F%2Fa.test%2F1%3Fx%3D2'],
  ['...', '/operator/api/why/...'],
])('an id "%s" stays in its segment', (id, path) => {
  expect(explain(id)).toBe(path)
})
