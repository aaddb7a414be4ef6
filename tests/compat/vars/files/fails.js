module.exports = () => ({ error: 'there is none' });
