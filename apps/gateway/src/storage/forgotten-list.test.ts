import fs, { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { measureGrowth } from '@postern/testing/growth'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openForgottenList } from './forgotten-list.ts'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'postern-forgotten-list-'))
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(directory, { recursive: true })
})

const pathOf = (name = 'list') => join(directory, name)

/** Adds a line like a separate process that opens the list for it. */
function add(name: string, path = pathOf()) {
  const list = openForgottenList(path)
  const line = list.createLine([name], {})
  list.append(line)
  return line.id
}

/** Returns the ids of the lines in the file that contain a name. */
function find(name: string, path = pathOf()) {
  const { lines, createFinder } = openForgottenList(path)
  return createFinder(lines)([name]).map(({ id }) => id)
}

const linesOf = (path: string) => readFileSync(path, 'utf8').split('\n').slice(1)

test('a list whose first line is incomplete counts what it lost, and accepts people again', () => {
  const lostId = add('ada')
  truncateSync(pathOf(), 20)
  const keptIds = [add('bob'), add('cleo')]
  expect(openForgottenList(pathOf()).unreadableCount).toBe(1)
  expect([...find('bob'), ...find('cleo')]).toEqual(keptIds)
  expect(find('ada')).not.toContain(lostId)
})

test('two processes that create the list at once lose no line', () => {
  const [ada, bob] = [add('ada', pathOf('first')), add('bob', pathOf('second'))]
  const [firstHead, firstLine] = linesOf(pathOf('first'))
  const [secondHead, secondLine] = linesOf(pathOf('second'))
  writeFileSync(pathOf(), [firstHead, secondHead, firstLine, secondLine].join('\n'))
  const cleo = add('cleo')
  expect([find('ada'), find('bob'), find('cleo')]).toEqual([[ada], [bob], [cleo]])
})

test('two processes that write at once give their lines different ids', () => {
  add('ada')
  const [one, other] = [openForgottenList(pathOf()), openForgottenList(pathOf())]
  const drafts = [one.createLine(['bob'], {}), other.createLine(['bob'], {})] as const
  one.append(drafts[0])
  other.append(drafts[1])
  expect(new Set(find('bob'))).toEqual(new Set(drafts.map(({ id }) => id)))
  expect(new Set(find('bob')).size).toBe(2)
})

test('a line that the disk writes in two parts is complete', () => {
  const write = fs.writeSync as (file: number, data: Uint8Array, offset: number, length: number) => number
  const short = vi.spyOn(fs, 'writeSync') as unknown as ReturnType<typeof vi.fn<typeof write>>
  short.mockImplementationOnce((file, data, offset) => write(file, data, offset, 10))
  const id = add('ada')
  expect(short).toHaveBeenCalledTimes(2)
  expect(find('ada')).toEqual([id])
})

test('a list finds many people among many lines in linear time', () => {
  const list = openForgottenList(pathOf())
  const drafts = Array.from({ length: 8000 }, (_, person) => list.createLine([`line ${person}`], {}))
  const findAll = ({ length }: string) => {
    const finds = list.createFinder(drafts.slice(0, length))
    for (let person = 0; person < length; person += 1) finds([`person ${person}`])
  }
  expect(measureGrowth(findAll, 'x', 8000)).toBeLessThan(24)
})
