const paragraphs = [
  'could you look up when the last train back from the coast leaves on Sunday, whether it takes bicycles, and what it costs for two people with a rail card?',
  'We would like to stay for the fireworks, which should end at about half past ten, and the walk from the pier to the station takes us a quarter of an hour when it does not rain.',
  'If there is no train that late, please tell us what the night bus does: where it stops, whether one has to book a seat, and whether it takes folding bicycles in the hold.',
  'Last year the platform was changed at the last minute and nobody had told us; if there is a page that shows such changes, we should be glad to have its address.',
  'There is no hurry: an answer by Friday evening is early enough, because that is when we pack. Thank you very much, and do enjoy the long week-end yourself!',
]

/** The letter as plain text; `id` makes it its own. */
export function letterText(id: string): string {
  return ['Dear agent,', ...paragraphs, `With kind regards,\nAlice (${id})`].join('\n\n')
}

/** The same as a mail program writes it. */
export function html(id: string): string {
  const style = 'margin:0 0 1em 0;font-family:Helvetica,Arial,sans-serif;font-size:14px;line-height:1.5;color:#222222'
  const body = ['Dear agent,', ...paragraphs, `With kind regards,<br>Alice (${id})`]
  return `<!DOCTYPE html><html><head><meta charset="utf-8"><title>Letter</title></head><body>${body
    .map(paragraph => `<p style="${style}">${paragraph}</p>`)
    .join('\r\n')}</body></html>`
}
