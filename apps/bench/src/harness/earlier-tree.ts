// Checks out an earlier commit of this repository and installs its packages, to measure against it.
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const repository = fileURLToPath(new URL('../../../../', import.meta.url))

/** Another commit of this repository, with the packages that it names, in a temporary folder. */
export interface EarlierTree {
  /** The commit in the notation of the command line. */
  readonly commit: string
  /** Finds the same file in the commit; undefined if the commit does not have it. */
  findEntry(file: URL): URL | undefined
  remove(): Promise<void>
}

/** Checks out a commit and installs its packages. @throws Error if git knows no such commit, or its packages cannot be installed */
export async function openEarlierTree(commit: string): Promise<EarlierTree> {
  const git = (...args: string[]) => run('git', ['-C', repository, ...args])
  const revision = await git('rev-parse', '--verify', '--quiet', '--end-of-options', `${commit}^{commit}`).catch(() => {
    throw new TypeError(`--against "${commit}" is no commit here. "git log --oneline" lists those there are.`)
  })
  const directory = join(mkdtempSync(join(tmpdir(), 'postern-bench-')), 'earlier')
  await git('worktree', 'add', '--detach', directory, revision.stdout.trim())
  const remove = async () => {
    await git('worktree', 'remove', '--force', directory)
    rmSync(join(directory, '..'), { recursive: true, force: true })
  }
  try {
    await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: directory })
  } catch (error) {
    await remove()
    throw new Error(`The packages of ${commit} cannot be installed`, { cause: error })
  }
  return {
    commit,
    findEntry(file) {
      const path = join(directory, relative(repository, fileURLToPath(file)))
      return existsSync(path) ? pathToFileURL(path) : undefined
    },
    remove,
  }
}
