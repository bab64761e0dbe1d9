import { expect, test } from 'vitest'
import { correctList, readList } from './lists.ts'

const text = [
  '# Paths',
  '## Web',
  '- `packages/web/src/routes.ts`: the route',
  '- `packages/web/src/gone.ts`: not any more',
  '- `packages/core/src/turn/turn.ts`: the turn',
  '## Email',
  '- `packages/email/src/verify.ts`: the proof',
].join('\n')

test('a list ends where the next heading begins', () => {
  expect(readList(text, 'Email')).toEqual(['packages/email/src/verify.ts'])
  expect(readList(text, 'Web')).toHaveLength(3)
})

test('a correction adds a file that runs beside its neighbours, and takes out a file that does not run', () => {
  const ran = ['packages/web/src/routes.ts', 'packages/web/src/new.ts', 'packages/core/src/turn/turn.ts']
  const { corrected, changes } = correctList(text, { title: 'Web', ran, describe: () => 'what is new' })
  expect(readList(corrected, 'Web')).toEqual(ran)
  expect(readList(corrected, 'Email')).toEqual(readList(text, 'Email'))
  expect(corrected).toContain('- `packages/web/src/new.ts`: what is new')
  expect(changes).toEqual(['added packages/web/src/new.ts', 'took out packages/web/src/gone.ts'])
})
