// Copies the documents and licences into the npm package.
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, matchesGlob, normalize } from 'node:path'

/** Files that the package contains unchanged, at the same paths as in the repository. */
const copied = [
  'LICENSE',
  'CHANGELOG.md',
  'docs/*.md',
  'docs/{start,guides,reference,explanation}/**/*.md',
  'examples/**/*',
]

/** Pages for those who change the gateway: they need the repository. */
const omitted: ReadonlySet<string> = new Set(['docs/reference/path-files.md', 'docs/explanation/missed-aims.md'])

/**
 * Copies the documents and examples that git tracks, without the environments and data that runs have left beside examples. Links to files
 * outside of the package become plain text.
 */
export function copyDocuments(root: string, folder: string): void {
  const paths = listTracked(root).filter(path => /\.\w+$|LICENSE$/.test(path) && existsSync(join(root, path)))
  const targets = new Set(['README.md', ...paths])
  const readme = readFileSync(join(root, 'apps/gateway/bin/README.md'), 'utf8')
  writeDocument(join(folder, 'README.md'), keepLinks(readme, 'README.md', targets))
  for (const path of paths) {
    const bytes = readFileSync(join(root, path))
    writeDocument(join(folder, path), path.endsWith('.md') ? keepLinks(bytes.toString('utf8'), path, targets) : bytes)
  }
}

function listTracked(root: string): readonly string[] {
  const paths = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  return paths.split('\0').filter(path => !omitted.has(path) && copied.some(pattern => matchesGlob(path, pattern)))
}

function writeDocument(file: string, content: string | Uint8Array): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}

/** Keeps `[text](path)` if the package contains the relative path. Reduces other links to their text, and removes other pictures. */
export function keepLinks(text: string, from: string, targets: ReadonlySet<string>): string {
  return text.replace(/!?\[([^\]]*)\]\(([^)\s]+)\)/g, (markdown: string, label: string, link: string) => {
    if (/^(?:[a-z][a-z0-9+.-]*:|#)/i.test(link)) return markdown
    const path = normalize(join(dirname(from), link.replace(/#.*$/, ''))).replace(/\/$/, '')
    const isFolder = [...targets].some(target => target.startsWith(`${path}/`))
    if (targets.has(path) || isFolder) return markdown
    return markdown.startsWith('!') ? '' : label
  })
}

/**
 * Writes the licences of the bundled libraries into one file, because the licences require it. `contained` lists the files of these
 * libraries.
 * @throws Error for a library without a licence
 */
export function writeLicences(folder: string, contained: readonly string[]): void {
  const folders = [...new Set(contained.map(findPackageFolder))].toSorted()
  const sections = folders.map(packagePath => {
    const { name, version, license } = JSON.parse(readFileSync(join(packagePath, 'package.json'), 'utf8')) as {
      readonly name: string
      readonly version: string
      readonly license?: string
    }
    const [file] = globSync('{LICENSE,LICENCE,License,license}*', { cwd: packagePath })
    if (license === undefined && file === undefined) throw new Error(`Cannot bundle ${name}: it has no licence`)
    const text = file === undefined ? '' : readFileSync(join(packagePath, file), 'utf8').trim()
    return `${name} ${version}\nLicence: ${license ?? 'see below'}\n\n${text}`.trim()
  })
  const intro = 'The bundle contains code of these libraries.'
  writeDocument(join(folder, 'THIRD-PARTY-LICENCES.txt'), `${[intro, ...sections].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`)
}

/** Finds the folder of the package that a file belongs to. */
function findPackageFolder(file: string): string {
  const packageFolder = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file.replace(/^\0/, '').replace(/\?.*$/, ''))?.[0]
  if (packageFolder === undefined || !existsSync(join(packageFolder, 'package.json')))
    throw new Error(`Cannot find the package of ${file}`)
  return packageFolder
}
