import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

interface CreatorOptions {
  readonly root: string
  /** Emptied before anything is written. */
  readonly folder: string
  readonly minimumNode: string
}

/** Writes what the package `create-postern` holds. It runs the release of `postern` of its own version. */
export function stageCreator({ root, folder, minimumNode }: CreatorOptions): void {
  const source = join(root, 'packages/create-postern')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const name of ['bin', 'README.md']) cpSync(join(source, name), join(folder, name), { recursive: true })
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  const {
    private: _,
    devDependencies,
    dependencies,
    ...manifest
  } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'))
  const published = {
    ...manifest,
    engines: { node: `>=${minimumNode}` },
    dependencies: { postern: manifest.version },
    publishConfig: { access: 'public', provenance: true },
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`)
}
