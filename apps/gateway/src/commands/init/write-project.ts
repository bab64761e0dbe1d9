import { lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CommandError } from '../client.ts'

/** Writes the files of a project. Nothing is written if one of them is there. @throws CommandError naming those that are there */
export function writeProject(folder: string, files: ReadonlyMap<string, string>): void {
  const present = [...files.keys()].filter(path => lstatSync(join(folder, path), { throwIfNoEntry: false }))
  if (present.length > 0) {
    throw new CommandError(
      `Cannot write a project in ${folder}: ${present.join(', ')} ${present.length > 1 ? 'are' : 'is'} there already. Name an empty folder: postern init <folder>`,
    )
  }
  for (const [path, text] of files) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    // The flag refuses a file that has come meanwhile.
    writeFileSync(file, text, { flag: 'wx' })
  }
}
