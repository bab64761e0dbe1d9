// Stages the npm package `create-postern`.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readPublication } from './publication.ts'
import type { StageOptions } from './stage-gateway.ts'

/** Writes the contents of `create-postern`, which runs the release of `postern` with the same version. */
export function stageCreator({ root, folder }: StageOptions): void {
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
  const published = { ...readPublication(root), ...manifest, dependencies: { postern: manifest.version } }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`)
}
