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

const listPath = (name = 'list') => join(directory, name)

/** Adds a line like a separate process that opens the list for it. */
function addLine(name: string, path = listPath()) {
  const list = openForgottenList(path)
  const line = list.createLine([name], {})
  list.append(line)
  return line.id
}

/** Returns the ids of the lines in the file that contain a name. */
function findIds(name: string, path = listPath()) {
  const { lines, createFinder } = openForgottenList(path)
  return createFinder(lines)([name]).map(({ id }) => id)
}

const readLines = (path: string) => readFileSync(path, 'utf8').split('\n').slice(1)

test('a list whose first line is incomplete counts the lost lines, and accepts people again', () => {
  const lostId = addLine('ada')
  truncateSync(listPath(), 20)
  const keptIds = [addLine('bob'), addLine('cleo')]
  expect(openForgottenList(listPath()).unreadableCount).toBe(1)
  expect([...findIds('bob'), ...findIds('cleo')]).toEqual(keptIds)
  expect(findIds('ada')).not.toContain(lostId)
})

test('two processes that create the list at once lose no line', () => {
  const [ada, bob] = [addLine('ada', listPath('first')), addLine('bob', listPath('second'))]
  const [firstHead, firstLine] = readLines(listPath('first'))
  const [secondHead, secondLine] = readLines(listPath('second'))
  writeFileSync(listPath(), [firstHead, secondHead, firstLine, secondLine].join('\n'))
  const cleo = addLine('cleo')
  expect([findIds('ada'), findIds('bob'), findIds('cleo')]).toEqual([[ada], [bob], [cleo]])
})

test('two processes that write at once give their lines different ids', () => {
  addLine('ada')
  const [firstList, secondList] = [openForgottenList(listPath()), openForgottenList(listPath())]
  const drafts = [firstList.createLine(['bob'], {}), secondList.createLine(['bob'], {})] as const
  firstList.append(drafts[0])
  secondList.append(drafts[1])
  expect(new Set(findIds('bob'))).toEqual(new Set(drafts.map(({ id }) => id)))
  expect(new Set(findIds('bob')).size).toBe(2)
})

test('a line that the disk writes in two parts is complete', () => {
  const write = fs.writeSync as (file: number, data: Uint8Array, offset: number, length: number) => number
  const writeSync = vi.spyOn(fs, 'writeSync') as unknown as ReturnType<typeof vi.fn<typeof write>>
  writeSync.mockImplementationOnce((file, data, offset) => write(file, data, offset, 10))
  const id = addLine('ada')
  expect(writeSync).toHaveBeenCalledTimes(2)
  expect(findIds('ada')).toEqual([id])
})

test('a list finds many people among many lines in linear time', () => {
  const list = openForgottenList(listPath())
  const drafts = Array.from({ length: 8000 }, (_, person) => list.createLine([`line ${person}`], {}))
  const findAll = ({ length }: string) => {
    const findLines = list.createFinder(drafts.slice(0, length))
    for (let person = 0; person < length; person += 1) findLines([`person ${person}`])
  }
  expect(measureGrowth(findAll, 'x', 8000)).toBeLessThan(24)
})
